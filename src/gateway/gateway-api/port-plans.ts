/** Plans the routes of Gateways for each port of the nodes. Pure. */
import { appendAll } from '../../base/lists.ts';
import { sortSteps } from '../../base/sort-steps.ts';
import type { Steps } from '../../base/steps.ts';
import type { SharedHosts } from '../snapshot/host-claims.ts';
import type { PlannedListener, PlannedPassthrough } from '../snapshot/snapshot-plan.ts';
import type { ResolvedListener } from './listeners.ts';
import type { RankedRoute } from './route-rules.ts';
import type { TerminatedHosts } from './terminated-hosts.ts';
import { certificatesOfPort } from './host-certificates.ts';
import type { HostOrder } from './host-order.ts';
import type { OwnRoute, RoutePlace } from './own-route.ts';

interface PlacedRoute extends RankedRoute {
  readonly hosts: readonly string[];
  readonly except: readonly string[] | undefined;
  /** Lower levels have precedence. */
  readonly level: number;
}

interface OpenPort {
  readonly isTls: boolean;
  /** Only TLSRoutes are served. */
  isTcp: boolean;
  readonly placed: PlacedRoute[];
  readonly listeners: ResolvedListener[];
  readonly passthrough: PlannedPassthrough[];
  /** The oldest TLSRoute of each host. */
  readonly passed: Map<string, OwnRoute>;
  /** The host names whose TLS is terminated. */
  readonly terminated: string[];
}

/** The object that has a host name when several name it. */
export interface HostHolders {
  readonly shared: SharedHosts;
  readonly terminatedHosts: TerminatedHosts;
  readonly order: HostOrder;
}

export function* portsOf(
  listeners: readonly ResolvedListener[],
  own: readonly OwnRoute[],
  { shared, terminatedHosts, order }: HostHolders,
): Steps<PlannedListener[]> {
  const ports = new Map<number, OpenPort>();
  for (const one of listeners) {
    const { listener, isTls, isHttp, isServed } = one;
    if (!isServed) continue;
    const { port, hostname } = listener;
    const open = ports.get(port) ?? emptyPort(isTls);
    ports.set(port, open);
    open.listeners.push(one);
    if (!isHttp) continue;
    open.isTcp = false;
    if (isTls && hostname !== undefined) open.terminated.push(hostname.toLowerCase());
  }
  for (const one of own) {
    const { converted, places } = one;
    const listenersAt = one.kind === 'TLSRoute' ? yield* terminatedHosts.listenersOf(one) : undefined;
    for (const place of places) {
      const { port, hosts, except } = place;
      const { placed, passthrough, passed } = ports.get(port)!;
      for (const [level, ofLevel] of hostsByLevel(place, order))
        for (const route of converted.routes) placed.push({ ...route, hosts: ofLevel, except, level });
      const listenerOf = (host: string): ResolvedListener | undefined =>
        shared.ingressBefore(port, host) === undefined ? listenersAt?.get(port)?.get(host) : undefined;
      for (const rule of converted.connections) {
        const remaining = hosts.filter((host) => listenerOf(host)?.isPassthrough === !rule.isTerminated);
        for (const host of remaining) if (!passed.has(host)) passed.set(host, one);
        if (remaining.length > 0) passthrough.push({ rule, hosts: remaining });
      }
    }
    yield;
  }
  const planned: PlannedListener[] = [];
  for (const [port, { placed, passed, listeners: served, ...open }] of ports) {
    appendAll(open.terminated, yield* terminatedHosts.belowPassed(port, passed));
    const routes = yield* sortSteps(placed, byRank);
    const certificates = yield* certificatesOfPort({ port, listeners: served, passed }, order);
    planned.push({ port, ...open, routes, certificates });
  }
  return planned;
}

function emptyPort(isTls: boolean): OpenPort {
  return { isTls, isTcp: isTls, placed: [], listeners: [], passthrough: [], passed: new Map(), terminated: [] };
}

function hostsByLevel({ port, gateway, hosts }: RoutePlace, order: HostOrder): ReadonlyMap<number, readonly string[]> {
  if (!order.isShared(port)) return new Map([[0, hosts]]);
  return Map.groupBy(hosts, (host) => order.levelOf(port, host, gateway));
}

/** Routes are sorted by age; a stable sort keeps that order among equal ranks. */
function byRank(a: PlacedRoute, b: PlacedRoute): number {
  if (a.level !== b.level) return a.level - b.level;
  for (let at = 0; at < Math.max(a.rank.length, b.rank.length); at++) {
    const difference = (b.rank[at] ?? 0) - (a.rank[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
