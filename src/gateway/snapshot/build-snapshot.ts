/** Plans the snapshot of a node from all served objects. Pure. */
import { appendAll } from '../../base/lists.ts';
import type { Steps } from '../../base/steps.ts';
import type { BuiltGateways } from '../gateway-api/build-gateways.ts';
import { sortedRoutes, type RankedRoute } from '../ingress/ingress-routes.ts';
import type { ConvertedIngress } from './accept-ingresses.ts';
import type { RouteProblem } from './cluster-view.ts';
import type { SharedHosts } from './host-claims.ts';
import type { RouteProblems } from './route-problems.ts';
import type { Backend, ServedCertificate } from './snapshot.ts';
import type { PlannedCertificate, PlannedListener, PlannedRoute, SnapshotPlan } from './snapshot-plan.ts';

/** The ports of ingresses. */
export interface GatewayPorts {
  readonly http: number;
  readonly https: number;
}

export interface SnapshotInput {
  /** Sorted by age, the oldest first. */
  readonly ingresses: readonly ConvertedIngress[];
  readonly ports: GatewayPorts;
  /** For hosts without a certificate. */
  readonly defaultCertificate: Pick<ServedCertificate, 'certPem' | 'keyPem'>;
  /** The ports and backends of Gateways. */
  readonly gateways?: Pick<BuiltGateways, 'ports' | 'backends'> | undefined;
  /** Hosts that Gateways have, too. */
  readonly shared: SharedHosts;
}

export interface BuiltSnapshot {
  readonly plan: SnapshotPlan;
  /** Problems by the ingress's uid. */
  readonly problems: ReadonlyMap<string, readonly RouteProblem[]>;
}

/** One step for each ingress. */
export function* buildSnapshot(input: SnapshotInput): Steps<BuiltSnapshot> {
  const { ingresses, ports, defaultCertificate, gateways } = input;
  const backends: Record<string, Backend> = {};
  const problems = new Map<string, readonly RouteProblem[]>();
  const certificates: PlannedCertificate[] = [];
  const ranked: RankedRoute[] = [];
  for (const { ingress, served, problems: found } of ingresses) {
    if (served !== undefined) {
      Object.assign(backends, served.backends);
      appendAll(ranked, served.ranked);
      appendAll(certificates, served.certificates);
      recordConflicts(served.ranked, input, found);
    }
    problems.set(ingress.metadata.uid, found.all());
    yield;
  }
  const routes = yield* sortedRoutes(ranked);
  const own: PlannedListener[] =
    ranked.length === 0
      ? []
      : [
          { port: ports.http, isTls: false, routes, certificates: [] },
          { port: ports.https, isTls: true, routes, certificates },
        ];
  const fallback = {
    certificate: { ...defaultCertificate, ownNames: [] },
    names: [''],
    withOwnNames: false,
    since: '',
  };
  const listeners = withGateways(own, gateways?.ports ?? [], input.shared).map((listener) =>
    isTerminating(listener) ? { ...listener, certificates: [...listener.certificates, fallback] } : listener,
  );
  return { plan: { listeners, backends: { ...backends, ...gateways?.backends } }, problems };
}

/** Names without a certificate get the default one, except on a port without HTTP. */
function isTerminating({ isTls, isTcp, routes, certificates }: PlannedListener): boolean {
  return isTls && isTcp !== true && (routes.length > 0 || certificates.length > 0);
}

/** Reports each host for which a Gateway's route has precedence over the ingress. */
function recordConflicts(
  ranked: readonly RankedRoute[],
  { ports, shared }: SnapshotInput,
  problems: RouteProblems,
): void {
  for (const host of new Set(ranked.flatMap(({ route }) => route.hosts)))
    for (const port of [ports.http, ports.https]) {
      const before = shared.routeBefore(port, host);
      if (before === undefined) continue;
      const message = `${before.source}, which is older, has precedence for ${host || 'all hosts'} on port ${port}`;
      problems.add({ reason: 'HostConflict', message });
    }
}

/** On a shared port, the older side of each host has precedence. */
function withGateways(
  own: readonly PlannedListener[],
  gateways: readonly PlannedListener[],
  shared: SharedHosts,
): PlannedListener[] {
  const others = own.filter(({ port }) => !gateways.some((one) => one.port === port));
  const merged = gateways.map((listener) => {
    const same = own.find(({ port }) => port === listener.port);
    if (same === undefined) return listener;
    // In addition to names that are passed through.
    const terminated = listener.isTls ? [...(listener.terminated ?? []), ...shared.hosts()] : [];
    const isFirst = (host: string): boolean => shared.ingressBefore(listener.port, host) !== undefined;
    return {
      ...listener,
      isTcp: false,
      terminated,
      routes: [
        ...withHosts(same.routes, isFirst),
        ...listener.routes,
        ...withHosts(same.routes, (host) => !isFirst(host)),
      ],
      certificates: [...same.certificates, ...listener.certificates].toSorted((a, b) => compare(a.since, b.since)),
    };
  });
  return [...others, ...merged];
}

/** The routes, reduced to the wanted hosts. */
function withHosts(routes: readonly PlannedRoute[], isWanted: (host: string) => boolean): PlannedRoute[] {
  // Paths of one rule share one list.
  const lists = new Map<readonly string[], readonly string[]>();
  return routes.flatMap((route) => {
    const hosts = lists.get(route.hosts) ?? route.hosts.filter(isWanted);
    lists.set(route.hosts, hosts);
    return hosts.length === 0 ? [] : [{ ...route, hosts }];
  });
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
