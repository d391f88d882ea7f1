/**
 * The endpoints of a port of a Service. They come from slices of the Service's own namespace: ready ones or, without any,
 * terminating ones that still serve, as in the proxy.
 */
import type { Service, ServicePort } from '../../api/gen/core-v1.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import { firstBy } from '../../base/first-by.ts';
import { getOrMake } from '../../base/get-or-make.ts';
import type { Backend, Endpoint } from './snapshot.ts';
import { LIMIT_EXCEEDED } from './snapshot-budget.ts';
import type { ClusterView, RouteProblem } from './cluster-view.ts';

/** A port of a Service, by name or number. */
export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: { readonly name?: string; readonly number?: number };
}

/** A backend with its key, or the reason why there is none. */
export type ResolvedBackend =
  | { readonly key: string; readonly portName: string; readonly backend: Backend; readonly problem?: undefined }
  | UnresolvedBackend;

interface UnresolvedBackend {
  readonly problem: RouteProblem;
}

/** Endpoints of the ports of Services that the routes of a namespace are the first to name, ready or not. */
const MAX_ENDPOINTS = 500_000;

/** The backends of one snapshot: thousands of paths may refer to one Service, whose endpoints are collected once. */
export class ServiceBackends {
  readonly #view: ClusterView;
  readonly #resolved = new Map<string, ResolvedBackend>();
  /** By the routes' namespace. */
  readonly #endpoints = new Map<string, number>();
  /** Endpoints that were looked at so far, with one for each call. */
  work = 0;

  constructor(view: ClusterView) {
    this.#view = view;
  }

  /** For a route of the namespace `owner`. */
  resolve(reference: ServiceReference, owner: string): ResolvedBackend {
    const { namespace, name, port } = reference;
    const key = `${namespace}/${name}/${port.name ?? ''}/${port.number ?? ''}`;
    this.work++;
    // A backend that is too large for one namespace is not too large for all.
    return (
      this.#resolved.get(key) ??
      getOrMake(this.#resolved, `${key} ${owner}`, () => this.#collect(reference, key, owner))
    );
  }

  #collect(reference: ServiceReference, key: string, owner: string): ResolvedBackend {
    const found = findPort(reference, this.#view);
    if (found.problem !== undefined) return found;
    const slices = this.#view.slicesOf(reference.namespace, reference.name);
    const count = slices.reduce((sum, { endpoints }) => sum + (endpoints?.length ?? 0), 0);
    const ofOwner = this.#endpoints.get(owner) ?? 0;
    if (ofOwner + count > MAX_ENDPOINTS)
      return problem(
        LIMIT_EXCEEDED,
        `ports of services that routes of namespace ${owner} name have more than ${MAX_ENDPOINTS} endpoints together`,
      );
    this.#endpoints.set(owner, ofOwner + count);
    this.work += count;
    const resolved = backendOf(reference, found, slices);
    this.#resolved.set(key, resolved);
    return resolved;
  }
}

type FoundPort = { readonly service: Service; readonly port: ServicePort; readonly problem?: undefined };

function findPort({ namespace, name, port }: ServiceReference, view: ClusterView): FoundPort | UnresolvedBackend {
  const service = view.service(namespace, name);
  if (service === undefined) return problem('BackendNotFound', `service ${name} does not exist`);
  if (service.spec?.type === 'ExternalName')
    return problem('UnsupportedBackend', `service ${name} is of type ExternalName, which is not followed`);
  const ports = service.spec?.ports ?? [];
  const { byName, byNumber } = getOrMake(portsOf, ports, () => indexPorts(ports));
  const servicePort = port.name === undefined ? byNumber.get(port.number ?? 0) : byName.get(port.name);
  if (servicePort === undefined)
    return problem('BackendNotFound', `service ${name} has no port ${port.name ?? port.number ?? 'of that name'}`);
  if ((servicePort.protocol ?? 'TCP') !== 'TCP')
    return problem(
      'UnsupportedBackend',
      `port ${servicePort.port} of service ${name} is ${servicePort.protocol}, not TCP`,
    );
  return { service, port: servicePort };
}

function backendOf(
  { namespace, name }: ServiceReference,
  { service, port }: FoundPort,
  slices: readonly EndpointSlice[],
): ResolvedBackend {
  const backend = {
    protocol: protocolOf(port),
    endpoints: endpointsOf(service, port, slices),
    isSticky: service.spec?.sessionAffinity === 'ClientIP',
  };
  return { key: `${namespace}/${name}:${port.port}`, portName: port.name ?? '', backend };
}

interface ServicePorts {
  readonly byName: ReadonlyMap<string | undefined, ServicePort>;
  readonly byNumber: ReadonlyMap<number, ServicePort>;
}

/** Thousands of paths may name thousands of ports. */
const portsOf = new WeakMap<readonly ServicePort[], ServicePorts>();

function indexPorts(ports: readonly ServicePort[]): ServicePorts {
  return { byName: firstBy(ports, ({ name }) => name), byNumber: firstBy(ports, ({ port }) => port) };
}

type SlicePorts = NonNullable<EndpointSlice['ports']>;

/** By name, the first port of a slice. */
const slicePorts = new WeakMap<SlicePorts, ReadonlyMap<string, SlicePorts[number]>>();

function firstPorts(ports: SlicePorts): ReadonlyMap<string, SlicePorts[number]> {
  return firstBy(ports, ({ name = '' }) => name);
}

function problem(reason: RouteProblem['reason'], message: string): UnresolvedBackend {
  return { problem: { reason, message } };
}

/** Upstream: the standard application protocols of KEP-3726; `https` and `grpc` as other controllers interpret them. */
function protocolOf({ appProtocol = '' }: ServicePort): Backend['protocol'] {
  switch (appProtocol.toLowerCase()) {
    case 'kubernetes.io/h2c':
    case 'grpc':
      return 'h2c';
    case 'https':
    case 'kubernetes.io/wss':
      return 'https';
    default:
      return 'http';
  }
}

function endpointsOf(service: Service, { name = '' }: ServicePort, slices: readonly EndpointSlice[]): Endpoint[] {
  const family = service.spec?.ipFamilies?.[0] ?? 'IPv4';
  const own = slices.some(({ addressType }) => addressType === family)
    ? slices.filter(({ addressType }) => addressType === family)
    : slices.filter(({ addressType }) => addressType !== 'FQDN');
  const [ready, ending] = [new Map<string, Endpoint>(), new Map<string, Endpoint>()];
  for (const { ports, endpoints } of own) {
    const port = ports && getOrMake(slicePorts, ports, () => firstPorts(ports)).get(name)?.port;
    if (port === undefined) continue;
    for (const { addresses, conditions } of endpoints ?? []) {
      const isReady = conditions?.ready !== false;
      const isEnding = conditions?.terminating === true && conditions.serving !== false;
      if (!isReady && !isEnding) continue;
      // All addresses of an endpoint belong to the same pod.
      const [address = ''] = addresses;
      (isReady ? ready : ending).set(`${address} ${port}`, { address, port });
    }
  }
  return [...(ready.size > 0 ? ready : ending).values()];
}
