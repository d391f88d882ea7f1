/**
 * Chooses the addresses of Services of type LoadBalancer among the nodes' addresses, as there is no external load
 * balancer. Pure. A port of an address belongs to one service: to its current one, otherwise to the oldest.
 */
import type { LoadBalancerIngress, Node, Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { parseIp } from '../base/cidr.ts';
import { appendAll } from '../base/lists.ts';
import { StepMeter, type Steps } from '../base/steps.ts';
import { isExcludedFromLoadBalancers, isNodeReady } from '../component-helpers/nodes.ts';

/** The addresses chosen for a service. */
export interface Assignment {
  readonly addresses: readonly string[];
  /** Why it has none although nodes have addresses. */
  readonly problem?: string;
}

export interface NodeCandidates {
  readonly nodes: readonly Node[];
  slicesOf(service: Service): readonly EndpointSlice[];
  readonly portUser: PortUser;
}

/**
 * The process of the nodes that uses a TCP port (API server, kubelet, routes) and would lose it to the service;
 * undefined: none.
 */
export type PortUser = (service: Service, port: number) => string | undefined;

/** Nodes and ports that are looked at in one step. */
const PARTS_PER_STEP = 2000;

/** Whether this controller is responsible for the service: it has no other load balancer class. */
function wantsAddresses(service: Service): boolean {
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

/** Chooses for all services, by key. */
export function* assignAddresses(
  services: readonly Service[],
  surroundings: NodeCandidates,
): Steps<Map<string, Assignment>> {
  const holders = new PortHolders();
  const nodes = new NodeAddresses(surroundings.nodes);
  const assigned = new Map<string, Assignment>();
  const meter = new StepMeter(PARTS_PER_STEP);
  for (const service of services.filter(wantsAddresses).toSorted(byPrecedence)) {
    if (meter.endsStep(1 + surroundings.nodes.length + (service.spec?.ports?.length ?? 0))) yield;
    const key = `${service.metadata.namespace}/${service.metadata.name}`;
    const wanted = candidateAddresses(service, nodes, surroundings);
    const problem = portOfNodes(service, surroundings);
    if (problem !== undefined) {
      assigned.set(key, { addresses: [], problem });
      continue;
    }
    const ports = (service.spec?.ports ?? []).map((p) => `${p.port}/${p.protocol ?? 'TCP'}`);
    const free = holders.take(key, wanted, ports);
    if (free.length > 0 || wanted.length === 0) {
      assigned.set(key, { addresses: free });
      continue;
    }
    const { port, holder } = holders.holderOf(wanted[0]!, ports);
    assigned.set(key, { addresses: [], problem: `port ${port} of the nodes' addresses is used by service ${holder}` });
  }
  return assigned;
}

/** Why the service gets no address: the nodes themselves use one of its ports. */
function portOfNodes(service: Service, { portUser }: NodeCandidates): string | undefined {
  for (const { port, protocol = 'TCP' } of service.spec?.ports ?? []) {
    const user = protocol === 'TCP' ? portUser(service, port) : undefined;
    if (user !== undefined) return `port ${port}/TCP of the nodes' addresses is used by ${user}`;
  }
  return undefined;
}

interface Holder {
  readonly key: string;
  readonly addresses: ReadonlySet<string>;
}

/** The services with ports on addresses, indexed by port and by service. */
class PortHolders {
  readonly #byPort = new Map<string, Holder[]>();

  /** Takes the addresses on which no other service has any of the ports. */
  take(key: string, wanted: readonly string[], ports: readonly string[]): string[] {
    const others = new Set(ports.flatMap((port) => this.#byPort.get(port) ?? []));
    let free = [...new Set(wanted)];
    for (const { addresses } of others) {
      if (free.length === 0) return [];
      free = free.filter((address) => !addresses.has(address));
    }
    if (free.length === 0) return [];
    const holder = { key, addresses: new Set(free) };
    for (const port of new Set(ports)) {
      const holders = this.#byPort.get(port);
      if (holders === undefined) this.#byPort.set(port, [holder]);
      else holders.push(holder);
    }
    return free;
  }

  /** The service that has one of the ports on the address. */
  holderOf(address: string, ports: readonly string[]): { readonly port: string; readonly holder: string } {
    for (const port of ports)
      for (const { key, addresses } of this.#byPort.get(port) ?? [])
        if (addresses.has(address)) return { port, holder: key };
    throw new Error(`nobody has ${address}`);
  }
}

function byPrecedence(a: Service, b: Service): number {
  const rank = (s: Service): string =>
    `${ingressOf(s).length > 0 ? 0 : 1} ${s.metadata.creationTimestamp ?? ''} ${s.metadata.namespace}/${s.metadata.name}`;
  const [first, second] = [rank(a), rank(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** The nodes' addresses for external traffic; each node is evaluated once. */
class NodeAddresses {
  readonly #byName = new Map<string, readonly string[]>();
  readonly #all = new Map<number, readonly string[]>();

  constructor(nodes: readonly Node[]) {
    const eligible = nodes.filter((n) => !isExcludedFromLoadBalancers(n) && n.metadata.deletionTimestamp === undefined);
    const ready = eligible.filter(isNodeReady);
    const chosen = ready.length > 0 ? ready : eligible;
    for (const family of FAMILIES) {
      const all: string[] = [];
      for (const node of chosen) {
        const own = nodeAddresses(node, family);
        this.#byName.set(`${node.metadata.name} ${family}`, own);
        appendAll(all, own);
      }
      this.#all.set(family, all);
    }
  }

  ofFamily(family: number): readonly string[] {
    return this.#all.get(family) ?? [];
  }

  ofNodes(names: ReadonlySet<string | undefined>, family: number): readonly string[] {
    return [...names].flatMap((name) => this.#byName.get(`${name} ${family}`) ?? []);
  }
}

const FAMILIES = [4, 6] as const;

function candidateAddresses(service: Service, nodes: NodeAddresses, { slicesOf }: NodeCandidates): string[] {
  const families = (service.spec?.ipFamilies ?? ['IPv4']).map((f) => (f === 'IPv6' ? 6 : 4));
  const withEndpoints =
    service.spec?.externalTrafficPolicy === 'Local'
      ? new Set(
          slicesOf(service).flatMap((s) =>
            (s.endpoints ?? []).filter((e) => e.conditions?.ready !== false).map((e) => e.nodeName),
          ),
        )
      : undefined;
  const addresses = families
    .flatMap((family) => (withEndpoints === undefined ? nodes.ofFamily(family) : nodes.ofNodes(withEndpoints, family)))
    .toSorted();
  const { loadBalancerIP } = service.spec ?? {};
  return loadBalancerIP !== undefined && addresses.includes(loadBalancerIP) ? [loadBalancerIP] : addresses;
}

/** The node's external addresses of a family, otherwise its internal ones. */
function nodeAddresses(node: Node, family: number): string[] {
  const ofType = (type: string): string[] =>
    (node.status?.addresses ?? [])
      .filter((a) => a.type === type && parseIp(a.address)?.family === family)
      .map((a) => a.address);
  const external = ofType('ExternalIP');
  return external.length > 0 ? external : ofType('InternalIP');
}
