/** Names of reverse DNS. Pure; the other direction is `reverseName` of base/cidr.ts. */
import { formatIp, parseIp } from '../base/cidr.ts';

const IPV4_SUFFIX = '.in-addr.arpa';
const IPV6_SUFFIX = '.ip6.arpa';

/** `7.0.42.10.in-addr.arpa` → `10.42.0.7`; IPv6 nibbles likewise, in canonical form. Undefined for other names. */
export function addressOfReverseName(name: string): string | undefined {
  if (name.endsWith(IPV4_SUFFIX))
    return canonicalIp(name.slice(0, -IPV4_SUFFIX.length).split('.').toReversed().join('.'));
  if (!name.endsWith(IPV6_SUFFIX)) return undefined;
  const nibbles = name.slice(0, -IPV6_SUFFIX.length).split('.').toReversed();
  if (nibbles.length !== 32 || !nibbles.every((n) => /^[0-9a-f]$/.test(n))) return undefined;
  return canonicalIp(Array.from({ length: 8 }, (_, i) => nibbles.slice(i * 4, i * 4 + 4).join('')).join(':'));
}

/** The canonical text of an address; undefined when it is invalid. */
export function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}
