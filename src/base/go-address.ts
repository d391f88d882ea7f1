/** The reason why a text is no IP address or range, in the words of Go's `net/netip`: clients see them in answers. */
import { quote } from './go-quote.ts';

/** An error, and the rest of the text from its place. */
interface Problem {
  readonly why: string;
  readonly at?: string;
}

/** Go's error for a text that is no address; undefined for an address. A zone is no error. */
export function addressProblem(text: string): string | undefined {
  const problem = problemOf(text);
  if (problem === undefined) return undefined;
  return `ParseAddr(${quote(text)}): ${problem.why}${problem.at === undefined ? '' : ` (at ${quote(problem.at)})`}`;
}

/** Go's error for a text that is no range; undefined for a range. */
export function prefixProblem(text: string): string | undefined {
  const slash = text.lastIndexOf('/');
  const why = slash < 0 ? "no '/'" : partsProblem(text.slice(0, slash), text.slice(slash + 1));
  return why && `netip.ParsePrefix(${quote(text)}): ${why}`;
}

function partsProblem(address: string, bits: string): string | undefined {
  const problem = addressProblem(address);
  if (problem !== undefined) return problem;
  if (address.includes('%')) return 'IPv6 zones cannot be present in a prefix';
  if (!/^(?:[1-9]\d*|[+-]?\d)$/.test(bits) || /^[+-]/.test(bits) || !Number.isSafeInteger(Number(bits)))
    return `bad bits after slash: ${quote(bits)}`;
  return Number(bits) > (address.includes(':') ? 128 : 32) ? 'prefix length out of range' : undefined;
}

function problemOf(text: string): Problem | undefined {
  switch (/[.:%]/.exec(text)?.[0]) {
    case '.':
      return ipv4Problem(text);
    case ':':
      return ipv6Problem(text);
    case '%':
      return { why: 'missing IPv6 address' };
    default:
      return { why: 'unable to parse IP' };
  }
}

function ipv4Problem(text: string): Problem | undefined {
  let octet = '';
  let dots = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (/\d/.test(character)) {
      if (octet === '0') return { why: 'IPv4 field has octet with leading zero' };
      octet += character;
      if (Number(octet) > 255) return { why: 'IPv4 field has value >255' };
    } else if (character === '.') {
      if (octet === '' || at === text.length - 1)
        return { why: 'IPv4 field must have at least one digit', at: text.slice(at) };
      if (++dots > 3) return { why: 'IPv4 address too long' };
      octet = '';
    } else return { why: 'unexpected character', at: text.slice(at) };
  }
  return dots < 3 ? { why: 'IPv4 address too short' } : undefined;
}

const FIELDS = 8;

function ipv6Problem(text: string): Problem | undefined {
  const percent = text.indexOf('%');
  if (percent === text.length - 1) return { why: 'zone must be a non-empty string' };
  let rest = percent < 0 ? text : text.slice(0, percent);
  let isShortened = rest.startsWith('::');
  if (isShortened) rest = rest.slice(2);
  if (isShortened && rest === '') return undefined;
  let fields = 0;
  while (fields < FIELDS) {
    const digits = /^[0-9a-f]*/i.exec(rest)![0];
    if (digits.length > 4) return { why: 'each group must have 4 or less digits', at: rest };
    if (digits === '') return { why: 'each colon-separated field must have at least one digit', at: rest };
    const after = rest.slice(digits.length);
    if (after.startsWith('.')) {
      const problem = embeddedProblem(rest, { fields, isShortened });
      if (problem !== undefined) return problem;
      fields += 2;
      rest = '';
      break;
    }
    fields++;
    rest = after;
    if (rest === '') break;
    if (!rest.startsWith(':')) return { why: 'unexpected character, want colon', at: rest };
    if (rest === ':') return { why: 'colon must be followed by more characters', at: rest };
    rest = rest.slice(1);
    if (!rest.startsWith(':')) continue;
    if (isShortened) return { why: 'multiple :: in address', at: rest };
    isShortened = true;
    rest = rest.slice(1);
    if (rest === '') break;
  }
  return lengthProblem(rest, { fields, isShortened });
}

interface ParsedFields {
  readonly fields: number;
  /** Whether `::` stands for some fields. */
  readonly isShortened: boolean;
}

/** The error of an IPv4 address at the end of an IPv6 one. */
function embeddedProblem(rest: string, { fields, isShortened }: ParsedFields): Problem | undefined {
  if (!isShortened && fields !== FIELDS - 2)
    return { why: 'embedded IPv4 address must replace the final 2 fields of the address', at: rest };
  if (fields + 2 > FIELDS)
    return { why: 'too many hex fields to fit an embedded IPv4 at the end of the address', at: rest };
  return ipv4Problem(rest);
}

function lengthProblem(rest: string, { fields, isShortened }: ParsedFields): Problem | undefined {
  if (rest !== '') return { why: 'trailing garbage after address', at: rest };
  if (fields < FIELDS && !isShortened) return { why: 'address string too short' };
  if (fields === FIELDS && isShortened) return { why: 'the :: must expand to at least one field of zeros' };
  return undefined;
}
