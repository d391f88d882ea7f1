/**
 * The other nodes to which packets for pods may be sent. Node objects are written by the nodes themselves, so what
 * would misdirect other nodes' traffic is refused: ranges outside the cluster's, ranges that overlap this node's or an
 * older node's, and addresses that belong to no other machine. Pure.
 */
import type { Node } from '../../api/gen/core-v1.ts';
import { cidrContains, formatIp, parseCidr, parseIp } from '../../base/cidr.ts';
import { FreeRanges } from './free-ranges.ts';

/** What the pod network knows of this node. */
export interface OwnPlace {
  readonly nodeName: string;
  /** This machine's own addresses, which cannot belong to another node. */
  readonly addresses: ReadonlySet<string>;
  /** The cluster's pod ranges, of which each node has a part. */
  readonly clusterRanges: readonly string[];
  /** This node's pod ranges; empty until they are assigned. */
  readonly podCidrs: readonly string[];
}

interface RoutableNode {
  readonly node: Node;
  /** Its pod ranges without those that were refused. */
  readonly ranges: readonly string[];
  /** Its internal addresses that may belong to another machine. */
  readonly addresses: readonly string[];
}

interface RoutableNodes {
  /** The oldest first. */
  readonly routable: readonly RoutableNode[];
  /** `NODE RANGE` for each range that was refused. */
  readonly refused: readonly string[];
}

export function routableNodes(nodes: readonly Node[], own: OwnPlace): RoutableNodes {
  const free = new FreeRanges(own.clusterRanges);
  for (const range of own.podCidrs) free.take(range);
  const refused: string[] = [];
  const routable = nodes
    .filter((node) => node.metadata.name !== own.nodeName)
    .toSorted(byAge)
    .map((node) => {
      const ranges = Map.groupBy(node.spec?.podCIDRs ?? [], (range) => free.take(range));
      for (const range of ranges.get(false) ?? []) refused.push(`${node.metadata.name} ${range}`);
      return { node, ranges: ranges.get(true) ?? [], addresses: addressesOf(node, own) };
    });
  return { routable, refused };
}

/** Sorts the oldest nodes first. */
function byAge({ metadata: a }: Node, { metadata: b }: Node): number {
  const [older, newer] = [a, b].map(({ creationTimestamp, uid }) => `${creationTimestamp} ${uid}`) as [string, string];
  return older < newer ? -1 : 1;
}

/** Loopback, unspecified, multicast and reserved addresses: none of them belongs to another machine. */
const NO_MACHINE = ['0.0.0.0/8', '127.0.0.0/8', '224.0.0.0/3', '::/127', 'ff00::/8'].flatMap(
  (range) => parseCidr(range) ?? [],
);

function addressesOf({ status }: Node, { addresses, clusterRanges }: OwnPlace): readonly string[] {
  const pods = clusterRanges.flatMap((range) => parseCidr(range) ?? []);
  return (status?.addresses ?? [])
    .filter(({ type }) => type === 'InternalIP')
    .flatMap(({ address }) => parseIp(address) ?? [])
    .filter((address) => ![...NO_MACHINE, ...pods].some((range) => cidrContains(range, address)))
    .map(formatIp)
    .filter((address) => !addresses.has(address));
}
