/** IP addresses and ranges. Upstream: apiserver/pkg/cel/library/ip.go and cidr.go. */
import type { Cidr, IpAddress } from '../../../base/cidr.ts';
import { cidrContains, formatIp, parseCidr, parseIp } from '../../../base/cidr.ts';
import { addressProblem, prefixProblem } from '../../../base/go-address.ts';
import { quote } from '../../../base/go-quote.ts';
import { chargeWork, textWork } from '../meter.ts';
import { SIZE } from '../runtime/size-of.ts';
import { opaqueType } from '../types/type.ts';
import type { Declarations } from '../types/declarations.ts';
import type { CelObject } from '../runtime/values.ts';
import { EQUALS, FunctionError, NO_OVERLOAD, TO_JSON, TYPE_NAME } from '../runtime/values.ts';

const IP = 'net.IP';
const CIDR = 'net.CIDR';

class Ip implements CelObject {
  readonly [TYPE_NAME] = IP;
  readonly address: IpAddress;

  constructor(address: IpAddress) {
    this.address = address;
  }

  [EQUALS](other: Ip): boolean {
    return this.address.family === other.address.family && this.address.value === other.address.value;
  }

  [TO_JSON](): string {
    chargeWork(RANGE_WORK);
    return formatIp(this.address);
  }

  /** The length of the address in bytes. */
  get [SIZE](): number {
    return this.address.family === 4 ? 4 : 16;
  }
}

class Range implements CelObject {
  readonly [TYPE_NAME] = CIDR;
  readonly range: Cidr;
  /** The address as written, including host bits. */
  readonly address: IpAddress;

  constructor(range: Cidr, address: IpAddress) {
    this.range = range;
    this.address = address;
  }

  [EQUALS](other: Range): boolean {
    const sameAddress = this.address.family === other.address.family && this.address.value === other.address.value;
    return sameAddress && this.range.prefixLength === other.range.prefixLength;
  }

  [TO_JSON](): string {
    chargeWork(RANGE_WORK);
    return `${formatIp(this.address)}/${this.range.prefixLength}`;
  }

  /** The length of the prefix in bytes. */
  get [SIZE](): number {
    return Math.ceil(this.range.prefixLength / 8);
  }
}

export function defineNetwork(declarations: Declarations): void {
  declarations.addType(opaqueType(IP));
  declarations.addType(opaqueType(CIDR));
  declarations.define({
    [`ip(string): ${IP}`]: ipOf,
    'isIP(string): bool': (text: string) => readIp(text) instanceof Ip,
    [`string(${IP}): string`]: (ip: Ip) => ip[TO_JSON](),
    [`${IP}.family(): int`]: (ip: Ip) => BigInt(ip.address.family),
    [`${IP}.isUnspecified(): bool`]: (ip: Ip) => ip.address.value === 0n,
    [`${IP}.isLoopback(): bool`]: isLoopback,
    [`${IP}.isLinkLocalMulticast(): bool`]: isLinkLocalMulticast,
    [`${IP}.isLinkLocalUnicast(): bool`]: isLinkLocalUnicast,
    [`${IP}.isGlobalUnicast(): bool`]: isGlobalUnicast,
    [`cidr(string): ${CIDR}`]: cidrOf,
    'isCIDR(string): bool': (text: string) => readCidr(text) instanceof Range,
    [`string(${CIDR}): string`]: (cidr: Range) => cidr[TO_JSON](),
    [`${CIDR}.ip(): ${IP}`]: (cidr: Range) => new Ip(cidr.address),
    [`${CIDR}.masked(): ${CIDR}`]: (cidr: Range) =>
      new Range(cidr.range, { family: cidr.range.family, value: cidr.range.base }),
    [`${CIDR}.prefixLength(): int`]: (cidr: Range) => BigInt(cidr.range.prefixLength),
    [`${CIDR}.containsIP(${IP}): bool`]: containsAddress,
    [`${CIDR}.containsIP(string): bool`]: (cidr: Range, text: string) => {
      const ip = readIp(text);
      // As upstream, which compares the error value and finds no overload.
      if (typeof ip === 'string') throw new FunctionError(NO_OVERLOAD);
      return containsAddress(cidr, ip);
    },
    [`${CIDR}.containsCIDR(${CIDR}): bool`]: holdsRange,
    [`${CIDR}.containsCIDR(string): bool`]: (cidr: Range, text: string) => holdsRange(cidr, cidrOf(text)),
  });
  declarations.defineNamespaced({
    'ip.isCanonical(string): bool': (text: string) => ipOf(text)[TO_JSON]() === text,
  });
}

/** Units of work for a character of an address. */
const ADDRESS_WORK = 3;

/** Units of work for formatting an address, or for comparing it with ranges. */
const RANGE_WORK = 20;

/** The address, or the reason why the text is invalid. */
function readIp(text: string): Ip | string {
  textWork(text, ADDRESS_WORK);
  const problem = addressProblem(text);
  if (problem !== undefined) return `IP Address ${quote(text)} parse error during conversion from string: ${problem}`;
  const address = parseIp(text);
  // An address that Go parses and the parser here refuses has a zone.
  if (address === undefined) return `IP address ${quote(text)} with zone value is not allowed`;
  if (address.family === 6 && address.value >> 32n === 0xffffn)
    return `IPv4-mapped IPv6 address ${quote(text)} is not allowed`;
  return new Ip(address);
}

function ipOf(text: string): Ip {
  const ip = readIp(text);
  if (typeof ip === 'string') throw new FunctionError(ip);
  return ip;
}

function readCidr(text: string): Range | string {
  textWork(text, ADDRESS_WORK);
  const problem = prefixProblem(text);
  if (problem !== undefined) return `network address parse error during conversion from string: ${problem}`;
  const range = parseCidr(text)!;
  const address = parseIp(text.split('/', 1)[0]!)!;
  if (address.family === 6 && address.value >> 32n === 0xffffn)
    return `IPv4-mapped IPv6 address ${quote(text)} is not allowed`;
  return new Range(range, address);
}

function cidrOf(text: string): Range {
  const range = readCidr(text);
  if (typeof range === 'string')
    throw new FunctionError(`network address parse error during conversion from string: ${range}`);
  return range;
}

/** A test for the ranges of one purpose in both families. */
function ranges(ipv4: string, ipv6: string): (ip: Ip) => boolean {
  const of4 = parseCidr(ipv4)!;
  const of6 = parseCidr(ipv6)!;
  return ({ address }) => {
    chargeWork(RANGE_WORK);
    return cidrContains(address.family === 4 ? of4 : of6, address);
  };
}

const isLoopback = ranges('127.0.0.0/8', '::1/128');
const isLinkLocalUnicast = ranges('169.254.0.0/16', 'fe80::/10');
const isMulticast = ranges('224.0.0.0/4', 'ff00::/8');
const isLinkLocalIpv4Multicast = ranges('224.0.0.0/24', '::/128');

function isLinkLocalMulticast(ip: Ip): boolean {
  // ff?2::/16 is the link-local scope, whatever the flags are.
  if (ip.address.family === 6) return ip.address.value >> 120n === 0xffn && ((ip.address.value >> 112n) & 0xfn) === 2n;
  return isLinkLocalIpv4Multicast(ip);
}

function isGlobalUnicast(ip: Ip): boolean {
  const broadcast = ip.address.family === 4 && ip.address.value === 0xffffffffn;
  return !broadcast && ip.address.value !== 0n && !isLoopback(ip) && !isLinkLocalUnicast(ip) && !isMulticast(ip);
}

function containsAddress(cidr: Range, ip: Ip): boolean {
  chargeWork(RANGE_WORK);
  return cidrContains(cidr.range, ip.address);
}

function holdsRange(outer: Range, inner: Range): boolean {
  chargeWork(RANGE_WORK);
  if (outer.range.family !== inner.range.family || outer.range.prefixLength > inner.range.prefixLength) return false;
  return cidrContains(outer.range, { family: inner.range.family, value: inner.range.base });
}
