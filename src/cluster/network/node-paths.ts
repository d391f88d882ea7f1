/**
 * Computes how this node reaches the pods of other nodes, from Node objects. Pure. Upstream leaves this to CNI
 * plugins; modelled on flannel's host-gw and vxlan backends.
 *
 * A node on a shared link is the next hop itself. Others are reached through VXLAN: the tunnel's MAC and gateway
 * derive from each node's pod range, and its outer address is the node's. So nothing has to be published or can be
 * stale, and both ends agree without talking.
 */
import type { Node } from '../../api/gen/core-v1.ts';
import { cidrContains, formatIp, nthAddress, parseCidr, parseIp, type Cidr } from '../../base/cidr.ts';
import { routableNodes, type OwnPlace } from './routable-nodes.ts';

/** What the pod network knows of this node and its links. */
export interface LinkedPlace extends OwnPlace {
  /** The networks this machine is attached to except its own pod network, e.g. `172.30.0.1/24`. */
  readonly links: readonly string[];
}

/** How one other node's pods are reached. */
export interface NodePath {
  readonly podCidr: string;
  /** The other node's IP address. */
  readonly nodeIp: string;
  readonly via: 'link' | 'vxlan';
  /** The next hop: the node itself, or its end of the tunnel. */
  readonly gateway: string;
  /** The MAC address of the other node's end of the tunnel. */
  readonly mac: string;
}

/** The paths to other nodes, and the nodes without one. */
export interface NodePaths {
  /** Sorted, so that equal inputs give equal paths. */
  readonly paths: readonly NodePath[];
  /** `NODE RANGE` for each range that was refused because it would misdirect the traffic of other nodes. */
  readonly refused: readonly string[];
}

/** The paths to all other nodes. Nodes without a pod range or without an address of its family are left out. */
export function nodePaths(nodes: readonly Node[], own: LinkedPlace): NodePaths {
  const links = own.links.flatMap((link) => parseCidr(link) ?? []);
  const { routable, refused } = routableNodes(nodes, own);
  const paths = routable
    .flatMap(({ ranges, addresses }) => pathsTo(ranges, { addresses, links }))
    .toSorted((a, b) => (a.podCidr < b.podCidr ? -1 : 1));
  return { paths, refused };
}

interface NodeReach {
  readonly addresses: readonly string[];
  readonly links: readonly Cidr[];
}

/** The second range uses the path of the first when the node shares no link for its family: one tunnel serves both. */
function pathsTo([first = '', ...others]: readonly string[], reach: NodeReach): readonly NodePath[] {
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

function pathTo(podCidr: string, { addresses, links }: NodeReach): NodePath | undefined {
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

/**
 * The tunnel end of the node with this pod range: the first address of the range, and a locally administered MAC
 * address derived from it.
 */
export function tunnelEnd(podCidr: string): { readonly gateway: string; readonly mac: string } {
  const range = parseCidr(podCidr);
  const first = range === undefined ? undefined : nthAddress(range, 0);
  if (first === undefined) throw new Error(`${podCidr} is no range`);
  const bits = BigInt.asUintN(32, first.family === 4 ? first.value : first.value >> 64n);
  const hex = bits.toString(16).padStart(8, '0');
  return { gateway: formatIp(first), mac: ['0a', '58', ...(hex.match(/../g) ?? [])].join(':') };
}
