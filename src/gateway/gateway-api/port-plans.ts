/** What each port of the nodes serves of the routes that Gateways have. Pure. */
import { appendAll } from '../../base/lists.ts';
import { sortSteps } from '../../base/sort-steps.ts';
import type { Steps } from '../../base/steps.ts';
import type { SharedHosts } from '../snapshot/host-claims.ts';
import type { PlannedCertificate, PlannedListener, PlannedPassthrough } from '../snapshot/snapshot-plan.ts';
import type { ResolvedListener } from './listeners.ts';
import type { RankedRoute } from './route-rules.ts';
import type { TerminatedHosts } from './terminated-hosts.ts';
import type { OwnRoute } from './own-route.ts';

interface PlacedRoute extends RankedRoute {
  readonly hosts: readonly string[];
}

interface OpenPort {
  readonly isTls: boolean;
  readonly placed: PlacedRoute[];
  readonly certificates: PlannedCertificate[];
  readonly passthrough: PlannedPassthrough[];
  /** The oldest TLSRoute of each host. */
  readonly passed: Map<string, OwnRoute>;
  /** The host names that are terminated. */
  readonly terminated: string[];
}

export function* portsOf(
  listeners: readonly ResolvedListener[],
  own: readonly OwnRoute[],
  { shared, terminatedHosts }: { readonly shared: SharedHosts; readonly terminatedHosts: TerminatedHosts },
): Steps<PlannedListener[]> {
  const ports = new Map<number, OpenPort>();
  for (const { listener, isTls, isPassthrough, isServed, certificates } of listeners) {
    if (!isServed) continue;
    const { port, hostname } = listener;
    const open = ports.get(port) ?? emptyPort(isTls);
    ports.set(port, open);
    appendAll(open.certificates, certificates);
    if (isTls && !isPassthrough && hostname !== undefined) open.terminated.push(hostname.toLowerCase());
  }
  for (const one of own) {
    const { converted, hostsByPort } = one;
    for (const [port, hosts] of hostsByPort) {
      const { placed, passthrough, passed } = ports.get(port)!;
      for (const route of converted.routes) placed.push({ ...route, hosts });
      if (converted.passthrough === undefined) continue;
      const kept = hosts.filter(
        (host) => shared.ingressBefore(port, host) === undefined && terminatedHosts.isPassed(one, port, host),
      );
      for (const host of kept) if (!passed.has(host)) passed.set(host, one);
      if (kept.length > 0) passthrough.push({ rule: converted.passthrough, hosts: kept });
    }
    yield;
  }
  const planned: PlannedListener[] = [];
  for (const [port, { placed, passed, ...open }] of ports) {
    appendAll(open.terminated, [...terminatedHosts.belowPassed(port, passed)]);
    const routes = yield* sortSteps(placed, byRank);
    planned.push({ port, ...open, routes });
  }
  return planned;
}

function emptyPort(isTls: boolean): OpenPort {
  return { isTls, placed: [], certificates: [], passthrough: [], passed: new Map(), terminated: [] };
}

/** Routes come the oldest first, and a stable sort keeps them so where ranks are equal. */
function byRank(a: RankedRoute, b: RankedRoute): number {
  for (let at = 0; at < Math.max(a.rank.length, b.rank.length); at++) {
    const difference = (b.rank[at] ?? 0) - (a.rank[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
