/** Formats of ports, ids, percentages, header names, addresses and ranges, with upstream's texts. Upstream: apimachinery/pkg/util/validation. */
import { parseIp, parseCidr } from '../base/cidr.ts';
import { maxCharactersText, inclusiveRangeText, regexText } from './names.ts';

/** A port's name: at most 15 lower-case characters with a letter among them. */
export function isPortName(text: string): string[] {
  const complaints: string[] = [];
  if (text.length > 15) complaints.push(maxCharactersText(15));
  if (!/^[-a-z0-9]+$/.test(text))
    complaints.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(text)) complaints.push('must contain at least one letter (a-z)');
  if (text.includes('--')) complaints.push('must not contain consecutive hyphens');
  if (text.startsWith('-') || text.endsWith('-')) complaints.push('must not begin or end with a hyphen');
  return complaints;
}

/** A port number: 1 to 65535. */
export function isPortNumber(port: number): string[] {
  return Number.isInteger(port) && port >= 1 && port <= 65535 ? [] : [inclusiveRangeText(1, 65535)];
}

/** A user or group id: 0 to 2^31-1. */
export function isUnixId(id: number): string[] {
  return Number.isInteger(id) && id >= 0 && id <= 2147483647 ? [] : [inclusiveRangeText(0, 2147483647)];
}

/** A percentage such as `25%`. */
export function isPercent(text: string): string[] {
  const message = "a valid percent string must be a numeric string followed by an ending '%'";
  return /^[0-9]+%$/.test(text) ? [] : [regexText(message, '[0-9]+%', '1%', '93%')];
}

export function isHttpHeaderName(text: string): string[] {
  const message = "a valid HTTP header must consist of alphanumeric characters or '-'";
  return /^[-A-Za-z0-9]+$/.test(text) ? [] : [regexText(message, '[-A-Za-z0-9]+', 'X-Header-Name')];
}

/** An IPv4 or IPv6 address. */
export function isIp(text: string): string[] {
  return parseIp(text) === undefined ? ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'] : [];
}

/** An IPv4 or IPv6 range. */
export function isCidr(text: string): string[] {
  return parseCidr(text) === undefined ? ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'] : [];
}
