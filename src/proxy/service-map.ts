/**
 * The input of the rules: each service port with its addresses, policies and endpoints, per address family. Pure.
 * Upstream: pkg/proxy/serviceport.go and servicechangetracker.go.
 */
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import type { Steps } from '../base/steps.ts';
import { formatCidr, formatIp, parseCidr, parseIp, type Cidr } from '../base/cidr.ts';
import { ServiceEndpoints, type NodeView, type PolicyEndpoints } from './endpoints.ts';
import type { IsReserved } from './reserved-addresses.ts';
import { endpointsPerPort, externalExcess } from './external-budget.ts';

/** Protocol names of nftables. */
export type Protocol = 'tcp' | 'udp' | 'sctp';

/** One port of a service in one family. */
export interface ServicePortView extends PolicyEndpoints {
  /** `namespace/name:port`. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** 0 when there is none. */
  readonly nodePort: number;
  readonly clusterIp: string;
  /** External addresses of the service. */
  readonly externalIps: readonly string[];
  readonly loadBalancerIps: readonly string[];
  /** The clients that may use the load balancer's addresses; empty: all. Disjoint. */
  readonly sourceRanges: readonly string[];
  /** 0 without session affinity. */
  readonly affinitySeconds: number;
  readonly internalLocal: boolean;
  readonly externalLocal: boolean;
}

/** Labels that exclude a service from this proxy, whatever their value. */
const EXCLUDING_LABELS = ['service.kubernetes.io/service-proxy-name', 'service.kubernetes.io/headless'];
const DEFAULT_AFFINITY_SECONDS = 10_800;
const PROTOCOLS: Readonly<Record<string, Protocol>> = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' };

/** Whether the proxy handles this service. */
export function isProxied(service: Service): boolean {
  const { type, clusterIP } = service.spec ?? {};
  return (
    type !== 'ExternalName' &&
    clusterIP !== undefined &&
    clusterIP !== '' &&
    clusterIP !== 'None' &&
    EXCLUDING_LABELS.every((label) => service.metadata.labels?.[label] === undefined)
  );
}

/** The node's view of services. */
export interface ServiceView {
  readonly node: NodeView;
  readonly family: 4 | 6;
  readonly isReserved?: IsReserved;
}

/** The endpoints of a service's slices, no more of each port than fit the budget of the service. */
export function endpointsOf(
  service: Service,
  slices: readonly EndpointSlice[],
  view: ServiceView,
): Steps<ServiceEndpoints> {
  return ServiceEndpoints.of(slices, { ...view, limit: endpointsPerPort(service) });
}

/** The ports of a service in one family, computed one by one; none when the service has no address of the family. */
export function* servicePorts(
  service: Service,
  endpoints: ServiceEndpoints,
  view: ServiceView,
): Generator<ServicePortView> {
  const spec = service.spec;
  if (spec === undefined || !isProxied(service)) return;
  const ofFamily = (addresses: readonly string[]): string[] =>
    addresses.filter((a) => parseIp(a)?.family === view.family);
  const [clusterIp] = ofFamily(spec.clusterIPs ?? [spec.clusterIP ?? '']);
  if (clusterIp === undefined || canonicalIp(clusterIp) === view.node.ownDns) return;
  const isExternal = spec.type === 'NodePort' || spec.type === 'LoadBalancer';
  const isServedOutside = externalExcess(service) === undefined;
  const loadBalancerIps = spec.type === 'LoadBalancer' && isServedOutside ? ofFamily(ingressAddresses(service)) : [];
  const balanced = new Set(loadBalancerIps);
  const shared = {
    clusterIp,
    externalIps: ofFamily(isServedOutside ? (spec.externalIPs ?? []) : [])
      .map(canonicalIp)
      .filter((ip) => !balanced.has(ip)),
    loadBalancerIps: loadBalancerIps.map(canonicalIp),
    sourceRanges: disjointRanges(spec.loadBalancerSourceRanges ?? [], view.family),
    affinitySeconds:
      spec.sessionAffinity === 'ClientIP'
        ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? DEFAULT_AFFINITY_SECONDS)
        : 0,
    internalLocal: spec.internalTrafficPolicy === 'Local',
    externalLocal: spec.externalTrafficPolicy === 'Local',
  };
  for (const port of spec.ports ?? []) {
    const protocol = PROTOCOLS[port.protocol ?? 'TCP'];
    if (protocol === undefined) continue;
    const name = `${service.metadata.namespace}/${service.metadata.name}${(port.name ?? '') === '' ? '' : `:${port.name}`}`;
    const nodePort = isExternal ? (port.nodePort ?? 0) : 0;
    const free = (ip: string): boolean => view.isReserved?.({ ip, protocol, port: port.port }) !== true;
    const addresses = {
      externalIps: shared.externalIps.filter(free),
      loadBalancerIps: shared.loadBalancerIps.filter(free),
    };
    yield { ...shared, ...addresses, name, protocol, port: port.port, nodePort, ...endpoints.ofPort(port) };
  }
}

/** Addresses of the load balancer that packets keep as their destination; with ipMode Proxy they do not. */
export function ingressAddresses(service: Pick<Service, 'status'>): string[] {
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  return ingress.flatMap((i) => (i.ip === undefined || i.ip === '' || i.ipMode === 'Proxy' ? [] : [i.ip]));
}

function canonicalIp(text: string): string {
  const ip = parseIp(text);
  return ip === undefined ? text : formatIp(ip);
}

/** The ranges of one family without nested ones; empty when they cover every address. */
export function disjointRanges(texts: readonly string[], family: 4 | 6): string[] {
  const ranges = texts.map((text) => parseCidr(text.trim())).filter((c): c is Cidr => c?.family === family);
  if (ranges.some((c) => c.prefixLength === 0)) return [];
  // Two ranges are disjoint or nested: sorted by their start, each is compared with the last one kept.
  const kept = new Set<Cidr>();
  let last: Cidr | undefined;
  for (const range of ranges.toSorted((x, y) => compareBases(x, y) || x.prefixLength - y.prefixLength)) {
    if (last !== undefined && contains(last, range)) continue;
    kept.add((last = range));
  }
  const wide = ranges.filter((range) => kept.has(range)).toSorted((x, y) => x.prefixLength - y.prefixLength);
  return wide.map(formatCidr);
}

function compareBases(a: Cidr, b: Cidr): number {
  return a.base < b.base ? -1 : a.base > b.base ? 1 : 0;
}

function contains(outer: Cidr, inner: Cidr): boolean {
  const hostBits = BigInt((outer.family === 4 ? 32 : 128) - outer.prefixLength);
  return inner.prefixLength >= outer.prefixLength && inner.base >> hostBits === outer.base >> hostBits;
}
