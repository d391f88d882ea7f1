/**
 * Plans the userspace mode: the portals with their endpoints, and the traffic redirected to each. Pure. A service
 * port has one portal for all endpoints and, if a traffic policy requires it, one for this node's.
 *
 * As upstream's userspace mode it does not support SCTP; unlike it, it applies traffic policies and source ranges.
 */
import { addressKey } from '../desired-rules.ts';
import type { HostPortView } from '../host-port-rules.ts';
import type { Endpoint } from '../endpoints.ts';
import type { ServicePortView } from '../service-map.ts';
import type { Target } from './balancer.ts';

/** The input of one family. */
export interface UserspaceWanted {
  readonly ports: readonly ServicePortView[];
  readonly hostPorts: readonly HostPortView[];
  /** Ranges of this host's addresses that serve node ports; absent: all addresses. */
  readonly nodePortRanges?: readonly string[] | undefined;
}

export interface PlannedPortal {
  readonly protocol: 'tcp' | 'udp';
  readonly targets: readonly Target[];
  /** Addresses of these and of other serving endpoints, whose clients may stay. */
  readonly serving: readonly string[];
  readonly affinitySeconds: number;
}

/** What happens to new connections without a portal. */
export type Verdict = 'drop' | 'goto refuse';

/**
 * Verdicts or portals by destination, in nftables' notation: `10.43.0.1 . tcp . 80` for `addresses`, `tcp . 30080`
 * for `nodePorts`.
 */
export interface Fronts {
  /** Names of portals. */
  readonly portals: Map<string, string>;
  /** The same for traffic that does not come from pods or this node; matched first. */
  readonly outside: Map<string, string>;
  readonly unserved: Map<string, Verdict>;
  /** Dropped when the traffic does not come from pods or this node. */
  readonly droppedOutside: Set<string>;
}

/** The plan of one family. */
export interface PortalPlan {
  readonly portals: ReadonlyMap<string, PlannedPortal>;
  readonly addresses: Fronts;
  readonly nodePorts: Fronts;
  readonly nodePortRanges: readonly string[] | undefined;
  /** Names of portals by host port, with keys as for node ports. */
  readonly hostPorts: ReadonlyMap<string, string>;
  /** Names of portals of host ports with an address, with keys as for addresses. */
  readonly hostAddresses: ReadonlyMap<string, string>;
  /** Addresses with source ranges, and the allowed sources: `… . 10.0.0.0/8`. */
  readonly firewalled: ReadonlySet<string>;
  readonly allowedSources: ReadonlySet<string>;
  /** Names of ports with an unsupported protocol. */
  readonly unsupported: readonly string[];
}

/** Plans the portals; of two with the same address and port the first is used. */
export function planPortals({ ports, hostPorts, nodePortRanges }: UserspaceWanted): PortalPlan {
  const plan = {
    portals: new Map<string, PlannedPortal>(),
    addresses: noFronts(),
    nodePorts: noFronts(),
    nodePortRanges,
    hostPorts: new Map<string, string>(),
    hostAddresses: new Map<string, string>(),
    firewalled: new Set<string>(),
    allowedSources: new Set<string>(),
    unsupported: [] as string[],
  };
  for (const port of ports) {
    if (port.protocol === 'sctp') plan.unsupported.push(port.name);
    internal(port, plan);
    external(port, plan);
  }
  for (const hostPort of hostPorts) {
    const { hostIp, hostPort: number, protocol, podIp, containerPort } = hostPort;
    const name = `host ${protocol} ${hostIp}:${number}`;
    if (protocol === 'sctp') {
      plan.unsupported.push(name);
      continue;
    }
    plan.portals.set(name, {
      protocol,
      targets: [{ address: podIp, port: containerPort }],
      serving: [podIp],
      affinitySeconds: 0,
    });
    if (hostIp === '') setIfAbsent(plan.hostPorts, `${protocol} . ${number}`, name);
    else setIfAbsent(plan.hostAddresses, `${hostIp} . ${protocol} . ${number}`, name);
  }
  return plan;
}

interface PlanDraft extends PortalPlan {
  readonly portals: Map<string, PlannedPortal>;
  readonly firewalled: Set<string>;
  readonly allowedSources: Set<string>;
}

function noFronts(): Fronts {
  return { portals: new Map(), outside: new Map(), unserved: new Map(), droppedOutside: new Set() };
}

function setIfAbsent<V>(map: Map<string, V>, key: string, value: V): void {
  if (!map.has(key)) map.set(key, value);
}

function internal(port: ServicePortView, plan: PlanDraft): void {
  const key = addressKey(port.clusterIp, port);
  const portal = portalOf(port, port.internalLocal ? 'local' : 'cluster', plan);
  if (portal !== undefined) setIfAbsent(plan.addresses.portals, key, portal);
  else setIfAbsent(plan.addresses.unserved, key, port.internalLocal && isServed(port) ? 'drop' : 'goto refuse');
}

function external(port: ServicePortView, plan: PlanDraft): void {
  if (port.nodePort === 0 && port.externalIps.length + port.loadBalancerIps.length === 0) return;
  const anywhere = portalOf(port, 'cluster', plan);
  const here = port.externalLocal ? portalOf(port, 'local', plan) : undefined;
  const front = (fronts: Fronts, key: string): void => {
    if (anywhere === undefined && here === undefined) return setIfAbsent(fronts.unserved, key, 'goto refuse');
    if (anywhere !== undefined) setIfAbsent(fronts.portals, key, anywhere);
    if (here !== undefined) setIfAbsent(fronts.outside, key, here);
    else if (port.externalLocal) fronts.droppedOutside.add(key);
  };
  for (const ip of [...port.externalIps, ...port.loadBalancerIps]) front(plan.addresses, addressKey(ip, port));
  if (port.nodePort > 0) front(plan.nodePorts, `${port.protocol} . ${port.nodePort}`);
  if (port.sourceRanges.length === 0) return;
  for (const key of port.loadBalancerIps.map((ip) => addressKey(ip, port))) {
    plan.firewalled.add(key);
    for (const range of port.sourceRanges) plan.allowedSources.add(`${key} . ${range}`);
  }
}

function isServed({ protocol, cluster }: ServicePortView): boolean {
  return protocol !== 'sctp' && cluster.length > 0;
}

/** The name of the portal for these endpoints, which is planned if necessary; undefined when there can be none. */
function portalOf(port: ServicePortView, list: 'cluster' | 'local', { portals }: PlanDraft): string | undefined {
  const { name, protocol, affinitySeconds, serving } = port;
  const targets: readonly Endpoint[] = port[list];
  if (protocol === 'sctp' || targets.length === 0) return undefined;
  const key = `${protocol} ${name} ${list}`;
  if (!portals.has(key)) portals.set(key, { protocol, targets, serving, affinitySeconds });
  return key;
}
