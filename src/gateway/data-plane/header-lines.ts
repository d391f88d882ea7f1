/**
 * Headers as lists of names and values in turn, as Node.js reads them from the wire: repeated ones stay apart and keep their
 * order. What belongs to one connection is not passed on, and nothing that a client says of itself passes as ours.
 */
import { HOP_BY_HOP, isChangeableHeader, isHeaderValue } from '../snapshot/header-rules.ts';
import type { HeaderChanges } from '../snapshot/snapshot.ts';

/** Name, value, name, value … */
export type HeaderLines = readonly string[];

/** What only this proxy says to backends. Servers that read headers as variables do not tell `_` from `-`. */
const FORWARDED = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-server',
  'x-real-ip',
]);

/** All values of a header, joined as HTTP joins them. */
export function headerValue(lines: HeaderLines, name: string): string | undefined {
  let found: string | undefined;
  for (let at = 0; at < lines.length; at += 2)
    if (isNamed(lines[at]!, name)) found = found === undefined ? lines[at + 1] : `${found}, ${lines[at + 1]}`;
  return found;
}

/** How often it is there. */
export function headerCount(lines: HeaderLines, name: string): number {
  let count = 0;
  for (let at = 0; at < lines.length; at += 2) if (isNamed(lines[at]!, name)) count++;
  return count;
}

function isNamed(line: string, name: string): boolean {
  return line.length === name.length && line.toLowerCase() === name;
}

/** Those of a request that its backend gets. Host and what this proxy adds are not among them. */
export function requestLines(lines: HeaderLines): string[] {
  const named = connectionTokens(lines);
  const kept: string[] = [];
  const cookies: string[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]!.toLowerCase();
    if (name[0] === ':' || name === 'host' || HOP_BY_HOP.has(name) || named?.has(name) === true) continue;
    if (name[0] === 'x' || name[0] === 'f') if (FORWARDED.has(name.replaceAll('_', '-'))) continue;
    // HTTP/2 sends each cookie as a line of its own, HTTP/1.1 knows only one.
    if (name === 'cookie') cookies.push(lines[at + 1]!);
    else kept.push(name, lines[at + 1]!);
  }
  if (cookies.length > 0) kept.push('cookie', cookies.join('; '));
  return kept;
}

/** Those of an answer that the client gets. */
export function responseLines(lines: HeaderLines): string[] {
  const named = connectionTokens(lines);
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]!.toLowerCase();
    if (name[0] === ':' || HOP_BY_HOP.has(name) || named?.has(name) === true) continue;
    kept.push(name, lines[at + 1]!);
  }
  return kept;
}

/** Trailers of either side that pass: none that frames a message, names its host or tells of the client (RFC 9110, 6.5.1). */
export function trailerLines(lines: HeaderLines): string[] {
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]!.toLowerCase();
    if (isChangeableHeader(name) && !FORWARDED.has(name.replaceAll('_', '-'))) kept.push(name, lines[at + 1]!);
  }
  return kept;
}

/** Headers that `Connection` names belong to the connection, but what frames a message or names its host does not. */
function connectionTokens(lines: HeaderLines): ReadonlySet<string> | undefined {
  const value = headerValue(lines, 'connection');
  if (value === undefined) return undefined;
  const tokens = new Set(value.split(',').map((token) => token.trim().toLowerCase()));
  for (const fixed of ['host', 'content-length', 'cookie', 'authorization']) tokens.delete(fixed);
  return tokens;
}

/** Applies what the rules of headers allow. */
export function applyChanges(lines: string[], changes: HeaderChanges | undefined): string[] {
  if (changes === undefined) return lines;
  const isAllowed = ([name, value]: readonly [string, string]): boolean =>
    isChangeableHeader(name) && isHeaderValue(value);
  const set = (changes.set ?? []).filter(isAllowed);
  const add = (changes.add ?? []).filter(isAllowed);
  const gone = new Set((changes.remove ?? []).filter(isChangeableHeader).map((name) => name.toLowerCase()));
  for (const [name] of set) gone.add(name.toLowerCase());
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at += 2) if (!gone.has(lines[at]!)) kept.push(lines[at]!, lines[at + 1]!);
  for (const [name, value] of set) kept.push(name.toLowerCase(), value);
  for (const [name, value] of add) kept.push(name.toLowerCase(), value);
  return kept;
}

/**
 * As Node's HTTP/2 takes them. It refuses lists of headers that it knows to have one value; so repeated ones are joined as HTTP
 * joins them, equal ones are one. Cookies that are set stay apart.
 */
export function headerObject(lines: HeaderLines): Record<string, string | string[]> {
  const object: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (let at = 0; at < lines.length; at += 2) {
    const [name, value] = [lines[at]!, lines[at + 1]!];
    const before = object[name];
    if (name === 'set-cookie') object[name] = before === undefined ? [value] : [...before, value];
    else if (before === undefined) object[name] = value;
    else if (before !== value) object[name] = `${String(before)}, ${value}`;
  }
  return object;
}
