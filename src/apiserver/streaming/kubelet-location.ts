/** Where a node's kubelet answers. Upstream: pkg/kubelet/client (NodeConnectionInfoGetter). */
import type { Node } from '../../api/gen/core-v1.ts';
import { EndpointSlices, Nodes, Services } from '../../api/gen/resources.ts';
import { badRequest, notFound, statusFailure } from '../../api/status-error.ts';
import type { ObjectStore } from '../registry/object-store.ts';

/** Kinds of addresses in the order they are tried, unless told otherwise. */
const PREFERRED_TYPES: readonly string[] = ['InternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS', 'ExternalIP'];
const DEFAULT_KUBELET_PORT = 10_250;

/** An address as the host part of a URL. */
export function urlHost(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

/** The node's address and its kubelet's port. Throws 500 when it has told none. */
export function kubeletAddress(
  node: Node,
  types = PREFERRED_TYPES,
): { readonly address: string; readonly port: number } {
  const addresses = node.status?.addresses ?? [];
  const found = types
    .map((type) => addresses.find((candidate) => candidate.type === type)?.address)
    .find((address) => address !== undefined && address !== '');
  if (found === undefined) {
    const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ');
    throw statusFailure(500, '', `no preferred addresses found; known addresses: [${known}]`);
  }
  return { address: found, port: node.status?.daemonEndpoints?.kubeletEndpoint?.Port || DEFAULT_KUBELET_PORT };
}

/**
 * Where the API server itself answers, nobody is called with its identity: a node says where its kubelet is. By the port,
 * as a machine has more addresses than it announces. Throws 400.
 */
export function refuseApiServer(
  objects: Pick<ObjectStore, 'get' | 'list'>,
  { address, port }: { readonly address: string; readonly port: number },
): void {
  const slices = objects
    .list(EndpointSlices, 'default')
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'kubernetes');
  const isServerPort = slices.some(({ ports }) => ports?.some((one) => one.port === port));
  const { clusterIP, clusterIPs = [] } = objects.get(Services, 'default', 'kubernetes')?.spec ?? {};
  if (isServerPort || clusterIP === address || clusterIPs.includes(address)) throw badRequest('address not allowed');
}

/** `https://address:port` of the kubelet of a node by its name. Throws 404 when there is no such node. */
export function kubeletBaseUrl(objects: ObjectStore, nodeName: string, types?: readonly string[]): string {
  const node = objects.get(Nodes, '', nodeName);
  if (node === undefined) throw notFound(Nodes, nodeName);
  const { address, port } = kubeletAddress(node, types);
  refuseApiServer(objects, { address, port });
  return `https://${urlHost(address)}:${port}`;
}
