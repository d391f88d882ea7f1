/**
 * The WireGuard peers of a node, from Node objects. Pure. The key is what the other node publishes, the allowed
 * addresses are its pod ranges, which the control plane assigns, and the endpoint is its internal address. Upstream:
 * the leases of flannel's wireguard backend.
 */
import type { Node } from '../../../api/gen/core-v1.ts';
import { wireguardPublicKey } from '../../../component-helpers/wireguard-annotations.ts';
import { routableNodes, type OwnPlace } from '../routable-nodes.ts';

/** flannel's port. */
export const WIREGUARD_PORT = 51_820;

export interface Peer {
  readonly nodeName: string;
  readonly publicKey: string;
  readonly endpoint: string;
  /** Sorted. */
  readonly allowedIps: readonly string[];
}

interface Peers {
  /** Sorted by key, so that equal inputs give equal peers. */
  readonly peers: readonly Peer[];
  /** Why nodes or ranges have no tunnel although they should have one. */
  readonly refused: readonly string[];
}

/**
 * The peers. Nodes without a key, range or address are left out. The key of this node or of an older one is refused:
 * who took it would take the other's traffic.
 */
export function wireguardPeers(nodes: readonly Node[], own: OwnPlace, ownKey: string): Peers {
  const { routable, refused } = routableNodes(nodes, own);
  const holders = new Map([[ownKey, own.nodeName]]);
  const problems = [...refused];
  const peers: Peer[] = [];
  for (const { node, ranges, addresses } of routable) {
    const [publicKey, address, nodeName = ''] = [wireguardPublicKey(node), addresses[0], node.metadata.name];
    if (publicKey === undefined || address === undefined || ranges.length === 0) continue;
    const holder = holders.get(publicKey);
    holders.set(publicKey, holder ?? nodeName);
    if (holder !== undefined) problems.push(`${nodeName} has the key of ${holder}`);
    else peers.push({ nodeName, publicKey, endpoint: endpointOf(address), allowedIps: ranges.toSorted() });
  }
  return { peers: peers.toSorted((a, b) => (a.publicKey < b.publicKey ? -1 : 1)), refused: problems };
}

function endpointOf(address: string): string {
  return `${address.includes(':') ? `[${address}]` : address}:${WIREGUARD_PORT}`;
}
