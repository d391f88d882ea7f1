/**
 * Which addresses a Service of type LoadBalancer gets: those of the nodes, as there is no balancer in front of them. Pure.
 * A port of an address belongs to one service; who has it keeps it, then the older service gets it.
 */
import type { LoadBalancerIngress, Node, Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { parseIp } from '../base/cidr.ts';
import { isNodeReady } from '../component-helpers/nodes.ts';

/** What a service is to have. */
export interface Assignment {
  readonly addresses: readonly string[];
  /** Why it has none, where there are addresses that others hold. */
  readonly problem?: string;
}

/** What addresses are chosen from. */
export interface Surroundings {
  readonly nodes: readonly Node[];
  slicesOf(service: Service): readonly EndpointSlice[];
  /** TCP ports on which the nodes themselves serve: taking them would cut the API or the kubelet off. */
  readonly reservedTcpPorts?: readonly number[];
}

const EXCLUDE_LABEL = 'node.kubernetes.io/exclude-from-external-load-balancers';

/** Whether this controller gives the service its addresses: another class belongs to another one. */
export function wantsAddresses(service: Service): boolean {
  return (
    service.spec?.type === 'LoadBalancer' &&
    (service.spec.loadBalancerClass ?? '') === '' &&
    service.metadata.deletionTimestamp === undefined
  );
}

/** The addresses in a service's status. */
export function ingressOf(service: Service): readonly LoadBalancerIngress[] {
  return service.status?.loadBalancer?.ingress ?? [];
}

/** Chooses for all services at once, by their key. */
export function assignAddresses(services: readonly Service[], surroundings: Surroundings): Map<string, Assignment> {
  const holders = new Map<string, string>();
  const assigned = new Map<string, Assignment>();
  for (const service of services.filter(wantsAddresses).toSorted(byPrecedence)) {
    const key = `${service.metadata.namespace}/${service.metadata.name}`;
    const wanted = candidateAddresses(service, surroundings);
    const reserved = service.spec?.ports?.find(
      (p) => (p.protocol ?? 'TCP') === 'TCP' && surroundings.reservedTcpPorts?.includes(p.port) === true,
    );
    if (reserved !== undefined) {
      assigned.set(key, {
        addresses: [],
        problem: `port ${reserved.port}/TCP of the nodes' addresses is used by the nodes themselves`,
      });
      continue;
    }
    const ports = (service.spec?.ports ?? []).map((p) => `${p.port}/${p.protocol ?? 'TCP'}`);
    const free = wanted.filter((address) => ports.every((port) => !holders.has(`${address} ${port}`)));
    for (const address of free) for (const port of ports) holders.set(`${address} ${port}`, key);
    if (free.length > 0 || wanted.length === 0) {
      assigned.set(key, { addresses: free });
      continue;
    }
    const [port, holder] =
      wanted
        .flatMap((a) => ports.map((p) => [p, holders.get(`${a} ${p}`)] as const))
        .find(([, h]) => h !== undefined) ?? [];
    assigned.set(key, { addresses: [], problem: `port ${port} of the nodes' addresses is used by service ${holder}` });
  }
  return assigned;
}

function byPrecedence(a: Service, b: Service): number {
  const rank = (s: Service): string =>
    `${ingressOf(s).length > 0 ? 0 : 1} ${s.metadata.creationTimestamp ?? ''} ${s.metadata.namespace}/${s.metadata.name}`;
  const [first, second] = [rank(a), rank(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

function candidateAddresses(service: Service, { nodes, slicesOf }: Surroundings): string[] {
  const families = (service.spec?.ipFamilies ?? ['IPv4']).map((f) => (f === 'IPv6' ? 6 : 4));
  const eligible = nodes.filter(
    (n) => n.metadata.labels?.[EXCLUDE_LABEL] === undefined && n.metadata.deletionTimestamp === undefined,
  );
  const ready = eligible.filter(isNodeReady);
  let chosen = ready.length > 0 ? ready : eligible;
  if (service.spec?.externalTrafficPolicy === 'Local') {
    const withEndpoints = new Set(
      slicesOf(service).flatMap((s) =>
        (s.endpoints ?? []).filter((e) => e.conditions?.ready !== false).map((e) => e.nodeName),
      ),
    );
    chosen = chosen.filter((n) => withEndpoints.has(n.metadata.name));
  }
  const addresses = families.flatMap((family) => chosen.flatMap((node) => nodeAddresses(node, family))).toSorted();
  const { loadBalancerIP } = service.spec ?? {};
  return loadBalancerIP !== undefined && addresses.includes(loadBalancerIP) ? [loadBalancerIP] : addresses;
}

/** The node's external addresses of a family, else its internal ones. */
function nodeAddresses(node: Node, family: number): string[] {
  const ofType = (type: string): string[] =>
    (node.status?.addresses ?? [])
      .filter((a) => a.type === type && parseIp(a.address)?.family === family)
      .map((a) => a.address);
  const external = ofType('ExternalIP');
  return external.length > 0 ? external : ofType('InternalIP');
}
