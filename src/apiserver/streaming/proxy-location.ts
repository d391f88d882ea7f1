/**
 * The locations of proxied requests to pods, services and nodes. Upstream: ResourceLocation of pods, services and
 * nodes.
 */
import type { Node, Pod, Service } from '../../api/gen/core-v1.ts';
import { badRequest, serviceUnavailable } from '../../api/status-error.ts';
import { cidrContains, type IpAddress, parseCidr, parseIp, unmapped } from '../../base/cidr.ts';
import type { Net } from '../../platform/net.ts';
import type { Random } from '../../platform/random.ts';
import { urlHost } from '../../component-helpers/url-host.ts';
import { readyEndpoint } from '../ready-endpoint.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { ProxyTarget } from '../registry/services.ts';
import { kubeletAddress } from './kubelet-location.ts';

/** Scheme, host and port. */
export interface ProxyLocation {
  readonly base: string;
  /** Set when the host of `base` is a name: only `resolveLocation` may dial it. */
  readonly name?: string;
}

/** Loopback, link-local and multicast addresses: they reach the dialling host or network, not a pod. */
const localRanges = [
  ...['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '255.255.255.255/32'],
  ...['::/128', '::1/128', 'fe80::/10', 'ff00::/8'],
].map((range) => parseCidr(range)!);

function checkProxyable(address: IpAddress): void {
  const meant = unmapped(address);
  if (localRanges.some((range) => cidrContains(range, meant))) throw badRequest('address not allowed');
}

function locationOf(scheme: string, address: string, port: string): ProxyLocation {
  const host = urlHost(address);
  if (host === undefined) throw badRequest('address not allowed');
  const ip = parseIp(address);
  if (ip !== undefined) checkProxyable(ip);
  return {
    base: `${scheme === '' ? 'http' : scheme}://${host}${port === '' ? '' : `:${port}`}`,
    name: ip === undefined ? address : undefined,
  };
}

/** The address to dial, and the names to send there. */
export interface DialledLocation {
  readonly base: string;
  /** The host and port for the request, and the name for TLS, when `base` has an address instead. */
  readonly named?: { readonly host: string; readonly serverName: string };
}

/**
 * Replaces a name by an address after checking all of its addresses: a second lookup when dialling could give
 * another. Throws 400 for names without addresses or with forbidden ones.
 */
export async function resolveLocation(
  { lookup }: Pick<Net, 'lookup'>,
  { base, name }: ProxyLocation,
): Promise<DialledLocation> {
  if (name === undefined) return { base };
  const found = await lookup(name).catch((error: unknown) => {
    throw badRequest(`lookup ${name}: ${(error as Error).message}`);
  });
  const addresses = found.map((text) => parseIp(text));
  if (addresses.length === 0) throw badRequest(`lookup ${name}: no such host`);
  for (const address of addresses) {
    if (address === undefined) throw badRequest('address not allowed');
    checkProxyable(address);
  }
  const host = base.slice(base.indexOf('://') + 3);
  const dialled = `${urlHost(found[0]!)}${host.slice(name.length)}`;
  return { base: base.slice(0, -host.length) + dialled, named: { host, serverName: name } };
}

/** The pod's address with the requested port, or the first one it declares. */
export function podLocation(pod: Pod, target: ProxyTarget): ProxyLocation {
  const ports = (pod.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  let port = target.port;
  if (port === '') port = ports[0] === undefined ? '' : String(ports[0].containerPort);
  else if (!/^\d+$/.test(port)) port = String(ports.find(({ name }) => name === target.port)?.containerPort ?? '');
  if (port === '' && target.port !== '')
    throw badRequest(`no port ${JSON.stringify(target.port)} found for pod "${pod.metadata.name}"`);
  return locationOf(target.scheme, pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? '', port);
}

/** One of the service's ready endpoints. Throws 503 when there is none. */
export function serviceLocation(
  deps: { objects: ObjectStore; random: Random },
  service: Service,
  target: ProxyTarget,
): ProxyLocation {
  const { name = '', namespace = '' } = service.metadata;
  let portName = target.port;
  if (/^\d+$/.test(target.port)) {
    const servicePort = (service.spec?.ports ?? []).find(({ port }) => port === Number(target.port));
    if (servicePort === undefined)
      throw serviceUnavailable(`no service port ${target.port} found for service "${name}"`);
    portName = servicePort.name ?? '';
  }
  const found = readyEndpoint(deps, { namespace, service: name, portName });
  if (found === undefined) throw serviceUnavailable(`no endpoints available for service "${name}"`);
  return locationOf(target.scheme, found.host, String(found.port));
}

/** The node's kubelet, which needs the client certificate, or another port of the node. */
export function nodeLocation(node: Node, target: ProxyTarget, types?: readonly string[]): ProxyLocation | 'kubelet' {
  const { address, port } = kubeletAddress(node, types);
  if (target.port === '' || target.port === String(port)) return 'kubelet';
  if (!/^\d+$/.test(target.port)) throw badRequest(`invalid port ${JSON.stringify(target.port)}`);
  return locationOf(target.scheme, address, target.port);
}
