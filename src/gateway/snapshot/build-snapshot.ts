/** Makes the snapshot of a node from all objects that are served. Pure. */
import type { Ingress } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import { appendAll } from '../../base/lists.ts';
import type { BuiltGateways } from '../gateway-api/build-gateways.ts';
import { byAge, routesOfIngress, sortedRoutes } from '../ingress/ingress-routes.ts';
import { certificatesOfIngress, type InspectCertificate } from '../ingress/tls-certificates.ts';
import type { Backend, Listener, ServedCertificate, Snapshot } from './snapshot.ts';
import type { ClusterView, RouteProblem } from './cluster-view.ts';

/** The ports of ingresses. */
export interface GatewayPorts {
  readonly http: number;
  readonly https: number;
}

export interface SnapshotInput {
  /** Those that are ours. */
  readonly ingresses: readonly Stored<Ingress>[];
  readonly view: ClusterView;
  readonly ports: GatewayPorts;
  /** For hosts without a certificate of their own. */
  readonly defaultCertificate: Pick<ServedCertificate, 'certPem' | 'keyPem'>;
  readonly inspect: InspectCertificate;
  /** What Gateways add. */
  readonly gateways?: Pick<BuiltGateways, 'ports' | 'backends'> | undefined;
}

export interface BuiltSnapshot {
  readonly snapshot: Snapshot;
  /** By the ingress's uid. */
  readonly problems: ReadonlyMap<string, readonly RouteProblem[]>;
}

export function buildSnapshot(input: SnapshotInput): BuiltSnapshot {
  const { ingresses, view, ports, defaultCertificate, inspect, gateways } = input;
  const backends: Record<string, Backend> = {};
  const problems = new Map<string, readonly RouteProblem[]>();
  const certificates: ServedCertificate[] = [];
  const ranked = ingresses.toSorted(byAge).flatMap((ingress) => {
    const found = routesOfIngress(ingress, view);
    const tls = certificatesOfIngress(ingress, view, inspect);
    Object.assign(backends, found.backends);
    appendAll(certificates, tls.certificates);
    problems.set(ingress.metadata.uid, [...found.problems, ...tls.problems]);
    return found.ranked;
  });
  const routes = sortedRoutes(ranked);
  const own: Listener[] =
    ranked.length === 0
      ? []
      : [
          { port: ports.http, isTls: false, routes, certificates: [] },
          { port: ports.https, isTls: true, routes, certificates },
        ];
  const listeners = withGateways(own, gateways?.ports ?? []).map((listener) =>
    listener.isTls
      ? {
          ...listener,
          certificates: [...listener.certificates, { names: [''], ...defaultCertificate }],
        }
      : listener,
  );
  return { snapshot: { listeners, backends: { ...backends, ...gateways?.backends } }, problems };
}

/** On a port that both have, routes of Gateways are asked before those of ingresses with the same host. */
function withGateways(own: readonly Listener[], gateways: BuiltGateways['ports']): Listener[] {
  const others = own.filter(({ port }) => !gateways.some((one) => one.port === port));
  const merged = gateways.map((listener) => {
    const same = own.find(({ port }) => port === listener.port);
    return {
      ...listener,
      routes: [...listener.routes, ...(same?.routes ?? [])],
      certificates: [...listener.certificates, ...(same?.certificates ?? [])],
    };
  });
  return [...others, ...merged];
}
