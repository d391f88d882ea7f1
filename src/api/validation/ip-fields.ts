/**
 * Fields that hold addresses and ranges: what different programs would read differently is refused, unless the object had
 * it in that field already. Upstream: util/validation IsValidIPForLegacyField, IsValidCIDRForLegacyField, IsValidCIDR.
 */
import { formatCidr, formatIp, parseCidr, parseIp, unmapped } from '../../base/cidr.ts';
import { quote } from '../../base/go-quote.ts';
import type { Field } from '../field-error.ts';

/** An address, canonical or not. */
export function validateIp(text: string, field: Field): void {
  refuse(text, ipProblem(text), field);
}

/** An address in canonical form, of a field that always asked for it. */
export function validateCanonicalIp(text: string, field: Field): void {
  const problem = ipProblem(text);
  if (problem !== undefined) return field.invalid(text, problem);
  const canonical = formatIp(parseIp(text)!);
  if (text !== canonical) field.invalid(text, `must be in canonical form (${quote(canonical)})`);
}

/** A range, canonical or not. */
export function validateCidr(text: string, field: Field): void {
  refuse(text, cidrProblem(text), field);
}

/** A range in canonical form, of a field that always asked for it. */
export function validateCanonicalCidr(text: string, field: Field): void {
  const problem = cidrProblem(text);
  if (problem !== undefined) return field.invalid(text, problem);
  const canonical = formatCidr(parseCidr(text)!);
  if (text !== canonical) field.invalid(text, `must be in canonical form (${quote(canonical)})`);
}

function refuse(text: string, problem: string | undefined, field: Field): void {
  if (problem !== undefined && !field.wasThere(text)) field.invalid(text, problem);
}

function ipProblem(text: string): string | undefined {
  const ip = parseIp(text);
  if (ip !== undefined) return unmapped(ip) === ip ? undefined : 'must not be an IPv4-mapped IPv6 address';
  if (parseIp(withoutLeadingZeros(text)) !== undefined) return 'must not have leading 0s';
  return 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
}

function cidrProblem(text: string): string | undefined {
  const range = parseCidr(text);
  const ip = parseIp(text.split('/')[0]!);
  if (range === undefined || ip === undefined) {
    if (parseCidr(withoutLeadingZeros(text)) !== undefined) return 'must not have leading 0s in IP or prefix length';
    return 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
  }
  if (unmapped(ip) !== ip) return 'must not have an IPv4-mapped IPv6 address';
  return ip.value === range.base ? undefined : 'must not have bits set beyond the prefix length';
}

/** More numbers and separators than any address or range has: the rest of a longer text is not looked at. */
const MAX_PARTS = 32;

/** Drops leading zeros of decimal numbers: those between dots, and a prefix length. */
function withoutLeadingZeros(text: string): string {
  const isDecimal = (part: string): boolean => /^\d+$/.test(part);
  const parts = text.split(/([.:/])/, MAX_PARTS);
  if (parts.length === MAX_PARTS) return text;
  return parts.map((part) => (isDecimal(part) ? part.replace(/^0+(?=\d)/, '') : part)).join('');
}
