/** The address of a node's kubelet. Upstream: pkg/kubelet/client (NodeConnectionInfoGetter). */
import type { Node } from '../../api/gen/core-v1.ts';
import { EndpointSlices, Services } from '../../api/gen/resources.ts';
import { badRequest, statusFailure } from '../../api/status-error.ts';
import { parseIp, unmapped } from '../../base/cidr.ts';
import { urlHost } from '../../component-helpers/url-host.ts';
import type { ObjectStore } from '../registry/object-store.ts';

/** Kinds of addresses in the order they are tried by default. */
const PREFERRED_TYPES: readonly string[] = ['InternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS', 'ExternalIP'];
const DEFAULT_KUBELET_PORT = 10_250;

/** The address of a kubelet according to its node. */
export interface KubeletAddress {
  readonly address: string;
  /** The address as URLs have it. */
  readonly host: string;
  readonly port: number;
}

/** The node's address and its kubelet's port. Throws 500 when its status has none, 400 when its address is invalid. */
export function kubeletAddress(node: Node, types = PREFERRED_TYPES): KubeletAddress {
  const addresses = node.status?.addresses ?? [];
  const found = types
    .map((type) => addresses.find((candidate) => candidate.type === type)?.address)
    .find((address) => address !== undefined && address !== '');
  if (found === undefined) {
    const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ');
    throw statusFailure(500, '', `no preferred addresses found; known addresses: [${known}]`);
  }
  const host = urlHost(found);
  if (host === undefined) throw badRequest('address not allowed');
  return { address: found, host, port: node.status?.daemonEndpoints?.kubeletEndpoint?.Port || DEFAULT_KUBELET_PORT };
}

/**
 * Refuses addresses of the API server itself, since a node controls its kubelet's address and could redirect the
 * server's own identity to it. Compares the port with the server's and its Service's, as a machine has more addresses
 * and names than it announces. Throws 400.
 */
export function refuseApiServer(
  objects: Pick<ObjectStore, 'get' | 'list'>,
  { address, port }: { readonly address: string; readonly port: number },
): void {
  const slices = objects
    .list(EndpointSlices, 'default')
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'kubernetes');
  const { clusterIP = '', clusterIPs = [], ports = [] } = objects.get(Services, 'default', 'kubernetes')?.spec ?? {};
  const isServerPort = [ports, ...slices.map((slice) => slice.ports ?? [])].flat().some((one) => one.port === port);
  const isServerAddress = [clusterIP, ...clusterIPs].some((ip) => isSameAddress(ip, address));
  if (isServerPort || isServerAddress) throw badRequest('address not allowed');
}

function isSameAddress(a: string, b: string): boolean {
  const [one, other] = [parseIp(a), parseIp(b)];
  return one !== undefined && other !== undefined && unmapped(one).value === unmapped(other).value;
}
