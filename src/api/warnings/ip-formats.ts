/**
 * Warnings about valid addresses and ranges that are not canonical. Upstream: util/validation GetWarningsForIP,
 * GetWarningsForCIDR.
 */
import { type Cidr, formatCidr, formatIp, type IpAddress, parseCidr, parseIp, unmapped } from '../../base/cidr.ts';
import { quote } from '../../base/go-quote.ts';
import { withoutLeadingZeros } from '../validation/ip-fields.ts';

/** Warnings about an address; validation reports invalid texts. */
export function ipWarnings(text: string, path: string): string[] {
  const strict = parseIp(text);
  const ip = strict ?? parseIp(withoutLeadingZeros(text));
  if (ip === undefined) return [];
  const plain = unmapped(ip);
  if (strict === undefined || plain !== ip)
    return [`${path}: non-standard IP address ${quote(text)} is invalid: use ${quote(formatIp(plain))}`];
  const canonical = formatIp(ip);
  if (ip.family === 4 || canonical === text) return [];
  return [`${path}: IPv6 address ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`];
}

/** The number of bits before the IPv4 address in an IPv4-mapped IPv6 address. */
const MAPPED_BITS = 96;

function unmappedRange(range: Cidr): Cidr {
  const base: IpAddress = { family: range.family, value: range.base };
  const plain = unmapped(base);
  if (plain === base || range.prefixLength < MAPPED_BITS) return range;
  return { family: 4, base: plain.value, prefixLength: range.prefixLength - MAPPED_BITS };
}

/** Warnings about a range; validation reports invalid texts. */
export function cidrWarnings(text: string, path: string): string[] {
  const strict = parseCidr(text);
  const readable = strict === undefined ? withoutLeadingZeros(text) : text;
  const range = parseCidr(readable);
  const ip = parseIp(readable.split('/')[0]!);
  if (range === undefined || ip === undefined) return [];
  const network = quote(formatCidr(unmappedRange(range)));
  const warnings: string[] = [];
  if (ip.value !== range.base) {
    const single = `${formatIp(unmapped(ip))}/${range.family === 4 ? 32 : 128}`;
    warnings.push(
      `${path}: CIDR value ${quote(text)} is ambiguous in this context (should be ${network} or ${quote(single)}?)`,
    );
  }
  if (strict === undefined || unmapped(ip) !== ip)
    warnings.push(`${path}: non-standard CIDR value ${quote(text)} is invalid: use ${network}`);
  const canonical = formatCidr(range);
  if (warnings.length === 0 && range.family === 6 && canonical !== text)
    warnings.push(
      `${path}: IPv6 CIDR value ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`,
    );
  return warnings;
}
