/**
 * IP addresses and address ranges, IPv4 and IPv6, as big integers. Strict as Go's `net/netip`: no leading zeros in IPv4
 * octets, no zones. An IPv4-mapped IPv6 text is IPv6. Upstream: net, k8s.io/utils/net.
 * By hand rather than by ipaddr.js: validation must accept and refuse exactly what Go's parsers do, and `base/` has no
 * dependency.
 */

/** An address: its family and its number. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/** A range in CIDR notation; `base` has its host bits cleared. */
export interface Cidr {
  readonly family: 4 | 6;
  readonly base: bigint;
  readonly prefixLength: number;
}

/** Longer than any address of either family, in any notation. */
const MAX_IP_LENGTH = 64;

/** Parses an address; undefined when the text is invalid. */
export function parseIp(text: string): IpAddress | undefined {
  if (text.length > MAX_IP_LENGTH) return undefined;
  if (text.includes(':')) {
    const value = parseIpv6(text);
    return value === undefined ? undefined : { family: 6, value };
  }
  const value = parseIpv4(text);
  return value === undefined ? undefined : { family: 4, value };
}

/** The IPv4 address an IPv4-mapped IPv6 one stands for: that is where a dial to it goes. Others as they are. */
export function unmapped(ip: IpAddress): IpAddress {
  return ip.family === 6 && ip.value >> 32n === 0xffffn ? { family: 4, value: ip.value & 0xffffffffn } : ip;
}

/** The canonical text: dotted IPv4, RFC 5952 IPv6. */
export function formatIp(ip: IpAddress): string {
  return ip.family === 4 ? formatIpv4(ip.value) : formatIpv6(ip.value);
}

/** A range with the address that its text has, host bits included. */
export interface WrittenCidr {
  readonly range: Cidr;
  readonly ip: IpAddress;
}

/** Parses `address/length` and clears host bits; undefined when the text is invalid. */
export function parseCidr(text: string): Cidr | undefined {
  return parseWrittenCidr(text)?.range;
}

/** As `parseCidr`, with the address as it is written. */
export function parseWrittenCidr(text: string): WrittenCidr | undefined {
  const slash = text.indexOf('/');
  if (slash < 0) return undefined;
  const ip = parseIp(text.slice(0, slash));
  const lengthText = text.slice(slash + 1);
  if (ip === undefined || !/^(0|[1-9]\d{0,2})$/.test(lengthText)) return undefined;
  const prefixLength = Number(lengthText);
  if (prefixLength > bits(ip.family)) return undefined;
  const hostBits = BigInt(bits(ip.family) - prefixLength);
  return { ip, range: { family: ip.family, base: (ip.value >> hostBits) << hostBits, prefixLength } };
}

/** The ranges of a text that names one, or one of each family, separated by commas. */
export function rangesOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(',');
}

/** Whether a range is IPv4 (4) or IPv6 (6). */
export function rangeFamily(range: string): 4 | 6 {
  return range.includes(':') ? 6 : 4;
}

/** `address/length` of a range. */
export function formatCidr(cidr: Cidr): string {
  return `${formatIp({ family: cidr.family, value: cidr.base })}/${cidr.prefixLength}`;
}

/** Number of addresses in the range. */
export function cidrSize(cidr: Cidr): bigint {
  return 1n << BigInt(bits(cidr.family) - cidr.prefixLength);
}

/** Whether the range holds the address. */
export function cidrContains(cidr: Cidr, ip: IpAddress): boolean {
  return ip.family === cidr.family && ip.value >= cidr.base && ip.value < cidr.base + cidrSize(cidr);
}

/** Whether two ranges share an address. */
export function cidrsOverlap(a: Cidr, b: Cidr): boolean {
  if (a.family !== b.family) return false;
  return a.base < b.base + cidrSize(b) && b.base < a.base + cidrSize(a);
}

/** The address `index` steps into the range; undefined past its end. */
export function nthAddress(cidr: Cidr, index: number | bigint): IpAddress | undefined {
  const offset = BigInt(index);
  if (offset < 0n || offset >= cidrSize(cidr)) return undefined;
  return { family: cidr.family, value: cidr.base + offset };
}

/** The `index`-th range of `prefixLength` inside `cidr`, as node ranges are cut from a cluster's; undefined past its end. */
export function nthSubnet(cidr: Cidr, prefixLength: number, index: number): Cidr | undefined {
  if (prefixLength < cidr.prefixLength || prefixLength > bits(cidr.family)) return undefined;
  if (BigInt(index) >= 1n << BigInt(prefixLength - cidr.prefixLength)) return undefined;
  const base = cidr.base + (BigInt(index) << BigInt(bits(cidr.family) - prefixLength));
  return { family: cidr.family, base, prefixLength };
}

/** `d.c.b.a.in-addr.arpa.` or the nibbles under `ip6.arpa.`: the name of the address in reverse DNS. */
export function reverseName(ip: IpAddress): string {
  if (ip.family === 4) return `${formatIpv4(ip.value).split('.').toReversed().join('.')}.in-addr.arpa.`;
  return `${[...ip.value.toString(16).padStart(32, '0')].toReversed().join('.')}.ip6.arpa.`;
}

function bits(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}

function parseIpv4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let value = 0;
  for (const part of parts) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part)) return undefined;
    const octet = Number(part);
    if (octet > 255) return undefined;
    value = value * 256 + octet;
  }
  return BigInt(value);
}

function formatIpv4(value: bigint): string {
  const number = Number(value);
  return `${Math.floor(number / 2 ** 24)}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`;
}

function parseIpv6(text: string): bigint | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0]!, halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1]!, true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => 0), ...tail];
  return groups.reduce((value, group) => (value << 16n) | BigInt(group), 0n);
}

function parseGroups(text: string, mayEndInIpv4: boolean): number[] | undefined {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    if (mayEndInIpv4 && index === parts.length - 1 && part.includes('.')) {
      const ipv4 = parseIpv4(part);
      if (ipv4 === undefined) return undefined;
      groups.push(Number(ipv4 >> 16n), Number(ipv4 & 0xffffn));
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
    } else {
      return undefined;
    }
  }
  return groups;
}

function formatIpv6(value: bigint): string {
  if (value >> 32n === 0xffffn) return `::ffff:${formatIpv4(value & 0xffffffffn)}`;
  const groups = Array.from({ length: 8 }, (_, index) => Number((value >> BigInt(112 - index * 16)) & 0xffffn));
  const run = longestZeroRun(groups);
  const texts = groups.map((group) => group.toString(16));
  if (run.length < 2) return texts.join(':');
  return `${texts.slice(0, run.start).join(':')}::${texts.slice(run.start + run.length).join(':')}`;
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  return best;
}
