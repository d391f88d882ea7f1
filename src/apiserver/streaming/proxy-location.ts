/** Where proxied requests to pods, services and nodes go. Upstream: ResourceLocation of pods, services and nodes. */
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import type { Node, Pod, Service } from '../../api/gen/core-v1.ts';
import { EndpointSlices } from '../../api/gen/resources.ts';
import { badRequest, serviceUnavailable } from '../../api/status-error.ts';
import type { Random } from '../../platform/random.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { ProxyTarget } from '../registry/services.ts';
import { kubeletAddress, urlHost } from './kubelet-location.ts';

/** Scheme, host and port, and whether a kubelet answers there, who wants our certificate. */
export interface ProxyLocation {
  readonly base: string;
  readonly isKubelet: boolean;
}

/** Loopback and link-local addresses belong to the machine that dials, not to the pod. */
function checkProxyable(address: string): void {
  const local = /^(127\.|169\.254\.|224\.0\.0\.|0\.)|^(::1?$|fe[89ab][0-9a-f]:|ff0[12]:)/i;
  if (address === '' || address.toLowerCase() === 'localhost' || local.test(address))
    throw badRequest('address not allowed');
}

function locationOf(scheme: string, address: string, port: string): ProxyLocation {
  checkProxyable(address);
  return {
    base: `${scheme === '' ? 'http' : scheme}://${urlHost(address)}${port === '' ? '' : `:${port}`}`,
    isKubelet: false,
  };
}

/** The pod's address and the port asked for, or the first one it declares. */
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
    const found = (service.spec?.ports ?? []).find(({ port }) => port === Number(target.port));
    if (found === undefined) throw serviceUnavailable(`no service port ${target.port} found for service "${name}"`);
    portName = found.name ?? '';
  }
  const slices = deps.objects
    .list(EndpointSlices, namespace)
    .filter((slice) => slice.metadata.labels?.['kubernetes.io/service-name'] === name);
  const candidates = slices.flatMap((slice) => readyAddresses(slice, portName));
  if (candidates.length === 0) throw serviceUnavailable(`no endpoints available for service "${name}"`);
  const { address, port } = candidates[deps.random.int(candidates.length)]!;
  return locationOf(target.scheme, address, String(port));
}

function readyAddresses(slice: EndpointSlice, portName: string): { readonly address: string; readonly port: number }[] {
  const port = (slice.ports ?? []).find((candidate) => (candidate.name ?? '') === portName)?.port;
  if (port === undefined || slice.addressType === 'FQDN') return [];
  return (slice.endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses }) => addresses.map((address) => ({ address, port })));
}

/** The node's kubelet, or another port of the node. */
export function nodeLocation(node: Node, target: ProxyTarget, types?: readonly string[]): ProxyLocation {
  const { address, port } = kubeletAddress(node, types);
  if (target.port === '' || target.port === String(port))
    return { base: `https://${urlHost(address)}:${port}`, isKubelet: true };
  if (!/^\d+$/.test(target.port)) throw badRequest(`invalid port ${JSON.stringify(target.port)}`);
  return locationOf(target.scheme, address, target.port);
}
