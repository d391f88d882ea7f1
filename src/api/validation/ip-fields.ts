/**
 * Fields that hold addresses and ranges. Spellings that programs read differently are refused, unless the object had the value in
 * that field before. Upstream: util/validation IsValidIPForLegacyField, IsValidCIDRForLegacyField, IsValidCIDR.
 */
import {
  type Cidr,
  formatCidr,
  formatIp,
  parseCidr,
  parseIp,
  parseWrittenCidr,
  unmapped,
  type WrittenCidr,
} from '../../base/cidr.ts';
import { quote } from '../../base/go-quote.ts';
import type { Field } from '../field-error.ts';

/** The text must be an address, canonical or not. */
export function validateIp(text: string, field: Field): void {
  reportProblem(text, ipProblem(text), field);
}

/** The text must be a canonical address, as in fields that always required it. */
export function validateCanonicalIp(text: string, field: Field): void {
  const problem = ipProblem(text);
  if (problem !== undefined) return field.invalid(text, problem);
  const canonical = formatIp(parseIp(text)!);
  if (text !== canonical) field.invalid(text, `must be in canonical form (${quote(canonical)})`);
}

/** The text must be a range, canonical or not. */
export function validateCidr(text: string, field: Field): void {
  validatedCidr(text, field);
}

/** `validateCidr`, which returns the range; undefined for an invalid text. */
export function validatedCidr(text: string, field: Field): Cidr | undefined {
  const written = parseWrittenCidr(text);
  reportProblem(text, cidrProblem(text, written), field);
  return written?.range;
}

/** The text must be a canonical range, as in fields that always required it. */
export function validateCanonicalCidr(text: string, field: Field): void {
  const written = parseWrittenCidr(text);
  const problem = cidrProblem(text, written);
  if (problem !== undefined) return field.invalid(text, problem);
  const canonical = formatCidr(written!.range);
  if (text !== canonical) field.invalid(text, `must be in canonical form (${quote(canonical)})`);
}

function reportProblem(text: string, problem: string | undefined, field: Field): void {
  if (problem !== undefined && !field.wasThere(text)) field.invalid(text, problem);
}

function ipProblem(text: string): string | undefined {
  const ip = parseIp(text);
  if (ip !== undefined) return unmapped(ip) === ip ? undefined : 'must not be an IPv4-mapped IPv6 address';
  if (parseIp(withoutLeadingZeros(text)) !== undefined) return 'must not have leading 0s';
  return 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
}

function cidrProblem(text: string, written: WrittenCidr | undefined): string | undefined {
  if (written === undefined) {
    if (parseCidr(withoutLeadingZeros(text)) !== undefined) return 'must not have leading 0s in IP or prefix length';
    return 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
  }
  const { range, ip } = written;
  if (unmapped(ip) !== ip) return 'must not have an IPv4-mapped IPv6 address';
  return ip.value === range.base ? undefined : 'must not have bits set beyond the prefix length';
}

/** More numbers and separators than an address or range has; the rest of a longer text is ignored. */
const MAX_PARTS = 32;

/** Removes leading zeros of decimal numbers: the parts of an IPv4 address, and a prefix length. */
export function withoutLeadingZeros(text: string): string {
  const isDecimal = (part: string): boolean => /^\d+$/.test(part);
  const parts = text.split(/([.:/])/, MAX_PARTS);
  if (parts.length === MAX_PARTS) return text;
  return parts.map((part) => (isDecimal(part) ? part.replace(/^0+(?=\d)/, '') : part)).join('');
}
