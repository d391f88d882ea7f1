/**
 * Address blocks and port numbers as nftables matches. Many of them are merged into disjoint intervals in one match,
 * so that peers and ports do not multiply into rules. Pure.
 */
import type { NetworkPolicyPeer, NetworkPolicyPort } from '../../api/gen/networking-v1.ts';
import { cidrSize, formatCidr, formatIp, parseCidr, type Cidr } from '../../base/cidr.ts';
import { joinIntervals, withoutIntervals, type Interval } from '../../base/intervals.ts';

/** The addresses of a family in the blocks, without exceptions, in nftables' notation. */
export function blockAddresses(peers: readonly NetworkPolicyPeer[], family: 4 | 6): string[] {
  return blockIntervals(peers, family).map((interval) => addressText(interval, family));
}

/** The same as numeric intervals. */
export function blockIntervals(peers: readonly NetworkPolicyPeer[], family: 4 | 6): Interval[] {
  const held = peers.flatMap(({ ipBlock }) => {
    const range = ipBlock && rangeOf(ipBlock.cidr, family);
    if (range === undefined) return [];
    return withoutIntervals(
      range,
      (ipBlock?.except ?? []).flatMap((cidr) => rangeOf(cidr, family) ?? []),
    );
  });
  return joinIntervals(held);
}

function rangeOf(text: string, family: 4 | 6): Interval | undefined {
  const cidr = parseCidr(text);
  return cidr?.family === family ? { first: cidr.base, last: cidr.base + cidrSize(cidr) - 1n } : undefined;
}

function addressText({ first, last }: Interval, family: 4 | 6): string {
  const size = last - first + 1n;
  if (size === 1n) return formatIp({ family, value: first });
  const isBlock = (size & (size - 1n)) === 0n && first % size === 0n;
  if (!isBlock) return [first, last].map((value) => formatIp({ family, value })).join('-');
  const prefixLength = (family === 4 ? 32 : 128) - (size.toString(2).length - 1);
  return formatCidr({ family, base: first, prefixLength } satisfies Cidr);
}

/** Ports by number, one match per protocol; names are left out. */
export function portMatches(ports: readonly NetworkPolicyPort[]): string[] {
  const byProtocol = [...portIntervals(ports)];
  const whole = byProtocol.filter(([, intervals]) => intervals === 'all');
  return [
    ...whole.map(([protocol]) => `meta l4proto ${protocol}`),
    ...byProtocol.flatMap(([protocol, intervals]) =>
      intervals === 'all' ? [] : [`${protocol} dport ${oneOf(intervals.map(portText))}`],
    ),
  ];
}

/** Port numbers by protocol in lower case; `all` for a protocol without a port. Named ports are left out. */
export function portIntervals(ports: readonly NetworkPolicyPort[]): ReadonlyMap<string, readonly Interval[] | 'all'> {
  const numbered = new Map<string, Interval[]>();
  const whole = new Set<string>();
  for (const { port, endPort, protocol = 'TCP' } of ports) {
    const name = protocol.toLowerCase();
    if (port === undefined) whole.add(name);
    else if (typeof port === 'number') {
      const intervals = numbered.get(name) ?? [];
      numbered.set(name, intervals);
      intervals.push({ first: BigInt(port), last: BigInt(endPort ?? port) });
    }
  }
  const joined = [...numbered].map(([name, intervals]) => [name, joinIntervals(intervals)] as const);
  return new Map<string, readonly Interval[] | 'all'>([...joined, ...[...whole].map((name) => [name, 'all'] as const)]);
}

function portText({ first, last }: Interval): string {
  return first === last ? `${first}` : `${first}-${last}`;
}

/** A match of any of these texts. */
export function oneOf(texts: readonly string[]): string {
  return texts.length === 1 ? texts[0]! : `{ ${texts.join(', ')} }`;
}
