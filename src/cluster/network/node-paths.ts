/**
 * How this node reaches the pods of others, computed from Node objects. Pure. Upstream has none of this (it is its users'
 * CNI plugins'); after flannel's host-gw and vxlan backends.
 *
 * A node on a link of ours is the next hop itself. Others are reached through VXLAN: the tunnel's addresses derive from
 * each node's pod range (MAC and gateway), its outer address is the node's. So nothing has to be published or can be stale,
 * and both ends agree without talking.
 */
import type { Node } from '../../api/gen/core-v1.ts';
import { cidrContains, formatIp, nthAddress, parseCidr, parseIp, type Cidr } from '../../base/cidr.ts';
import { FreeRanges } from './free-ranges.ts';

/** This node, as far as the pod network cares. */
export interface OwnPlace {
  readonly nodeName: string;
  /** The networks this machine is attached to, e.g. `172.30.0.1/24`, its own pod network not among them. */
  readonly links: readonly string[];
  /** This machine's addresses: none of them leads to another node. */
  readonly addresses: ReadonlySet<string>;
  /** The ranges that all nodes' ranges are cut from. */
  readonly clusterRanges: readonly string[];
  /** Empty until this node has its own. */
  readonly podCidrs: readonly string[];
}

/** The way to one node's pods. */
export interface NodePath {
  readonly podCidr: string;
  /** The node's own address. */
  readonly nodeIp: string;
  readonly via: 'link' | 'vxlan';
  /** Next hop: the node, or its end of the tunnel. */
  readonly gateway: string;
  /** MAC of its end of the tunnel. */
  readonly mac: string;
}

/** What is routed, and what is not. */
export interface NodePaths {
  /** In a stable order. */
  readonly paths: readonly NodePath[];
  /** `NODE RANGE`, of ranges that would lead the traffic of others astray. */
  readonly refused: readonly string[];
}

/**
 * The paths to all other nodes. Nodes without range or address of its family are left out, and so is what would lead the
 * traffic of others astray, as Node objects are written by their nodes: ranges outside the cluster's, or that overlap this
 * node's or an older node's, and addresses that are no other machine's.
 */
export function nodePaths(nodes: readonly Node[], own: OwnPlace): NodePaths {
  const links = own.links.flatMap((link) => parseCidr(link) ?? []);
  const free = new FreeRanges(own.clusterRanges);
  for (const range of own.podCidrs) free.take(range);
  const refused: string[] = [];
  const paths = nodes
    .filter((node) => node.metadata.name !== own.nodeName)
    .toSorted(byAge)
    .flatMap((node) => {
      const ranges = Map.groupBy(node.spec?.podCIDRs ?? [], (range) => free.take(range));
      for (const range of ranges.get(false) ?? []) refused.push(`${node.metadata.name} ${range}`);
      return pathsTo(ranges.get(true) ?? [], { addresses: addressesOf(node, own), links });
    })
    .toSorted((a, b) => (a.podCidr < b.podCidr ? -1 : 1));
  return { paths, refused };
}

/** The oldest first. */
function byAge({ metadata: a }: Node, { metadata: b }: Node): number {
  const [older, newer] = [a, b].map(({ creationTimestamp, uid }) => `${creationTimestamp} ${uid}`) as [string, string];
  return older < newer ? -1 : 1;
}

interface Reach {
  readonly addresses: readonly string[];
  readonly links: readonly Cidr[];
}

/** A second range goes the way of the first where the node is on no link with an address of its family: one tunnel serves both. */
function pathsTo([first = '', ...others]: readonly string[], reach: Reach): readonly NodePath[] {
  const main = pathTo(first, reach);
  if (main === undefined) return [];
  const through = { nodeIp: main.nodeIp, via: 'vxlan', mac: main.mac } as const;
  return [
    main,
    ...others.map((podCidr): NodePath => {
      const direct = pathTo(podCidr, reach);
      return direct?.via === 'link' ? direct : { ...through, podCidr, gateway: tunnelEnd(podCidr).gateway };
    }),
  ];
}

function pathTo(podCidr: string, { addresses, links }: Reach): NodePath | undefined {
  const range = parseCidr(podCidr);
  if (range === undefined) return undefined;
  const nodeIp = addresses.find((text) => parseIp(text)?.family === range.family);
  const address = nodeIp === undefined ? undefined : parseIp(nodeIp);
  if (nodeIp === undefined || address === undefined) return undefined;
  const { gateway, mac } = tunnelEnd(podCidr);
  return links.some((link) => cidrContains(link, address))
    ? { podCidr, nodeIp, via: 'link', gateway: nodeIp, mac }
    : { podCidr, nodeIp, via: 'vxlan', gateway, mac };
}

/** Loopback, unspecified, multicast and reserved: packets to them reach no single other machine. */
const NO_MACHINE = ['0.0.0.0/8', '127.0.0.0/8', '224.0.0.0/3', '::/127', 'ff00::/8'].flatMap(
  (range) => parseCidr(range) ?? [],
);

/** A node's internal addresses that can be another machine's. */
function addressesOf({ status }: Node, { addresses, clusterRanges }: OwnPlace): readonly string[] {
  const pods = clusterRanges.flatMap((range) => parseCidr(range) ?? []);
  return (status?.addresses ?? [])
    .filter(({ type }) => type === 'InternalIP')
    .flatMap(({ address }) => parseIp(address) ?? [])
    .filter((address) => ![...NO_MACHINE, ...pods].some((range) => cidrContains(range, address)))
    .map(formatIp)
    .filter((address) => !addresses.has(address));
}

/** The tunnel's end of the node with this pod range: the range's own address, and a locally administered MAC made of it. */
export function tunnelEnd(podCidr: string): { readonly gateway: string; readonly mac: string } {
  const range = parseCidr(podCidr);
  const first = range === undefined ? undefined : nthAddress(range, 0);
  if (first === undefined) throw new Error(`${podCidr} is no range`);
  const bits = BigInt.asUintN(32, first.family === 4 ? first.value : first.value >> 64n);
  const hex = bits.toString(16).padStart(8, '0');
  return { gateway: formatIp(first), mac: ['0a', '58', ...(hex.match(/../g) ?? [])].join(':') };
}
