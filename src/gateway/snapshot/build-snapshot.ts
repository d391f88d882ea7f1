/** Makes the snapshot of a node from all objects that are served. Pure. */
import type { Ingress } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import { appendAll } from '../../base/lists.ts';
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
}

export interface BuiltSnapshot {
  readonly snapshot: Snapshot;
  /** By the ingress's uid. */
  readonly problems: ReadonlyMap<string, readonly RouteProblem[]>;
}

export function buildSnapshot({ ingresses, view, ports, defaultCertificate, inspect }: SnapshotInput): BuiltSnapshot {
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
  if (ranked.length === 0) return { snapshot: { listeners: [], backends: {} }, problems };
  const routes = sortedRoutes(ranked);
  const listeners: Listener[] = [
    { port: ports.http, isTls: false, routes, certificates: [] },
    { port: ports.https, isTls: true, routes, certificates: [...certificates, { names: [''], ...defaultCertificate }] },
  ];
  return { snapshot: { listeners, backends }, problems };
}
