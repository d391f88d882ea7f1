/** The part of a snapshot that Gateways and their routes make, and the status of all of them. Pure. */
import type { Stored } from '../../api/object.ts';
import type { Steps } from '../../base/steps.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { ClusterView } from '../snapshot/cluster-view.ts';
import { costOfBackends, costOfRoutes } from '../snapshot/route-cost.ts';
import type { SharedHosts } from '../snapshot/host-claims.ts';
import type { SecretCertificates } from '../snapshot/secret-certificates.ts';
import { ServiceBackends } from '../snapshot/service-backend.ts';
import type { Backend } from '../snapshot/snapshot.ts';
import {
  GATEWAY_LIMITS,
  LIMIT_EXCEEDED,
  ROUTE_LIMITS,
  SnapshotBudget,
  type BudgetAccount,
} from '../snapshot/snapshot-budget.ts';
import type { PlannedListener } from '../snapshot/snapshot-plan.ts';
import { attachRoute, type AttachContext, type AttachedParent } from './attach-routes.ts';
import { placePolicies, type BackendTlsPolicies, type PolicyContext } from './backend-tls-policies.ts';
import { byAge } from '../by-age.ts';
import { KindClaims } from './kind-claims.ts';
import { resolveListeners } from './listeners.ts';
import { convertRoute, servicesNamedBy, type ConvertedRoute, type RouteContext } from './route-rules.ts';
import type {
  BackendTlsPolicy,
  Gateway,
  GatewayRoute,
  GrpcRoute,
  HttpRoute,
  ReferenceGrant,
  TlsRoute,
} from './types.ts';
import type { OwnRoute } from './own-route.ts';
import { portsOf } from './port-plans.ts';
import { TerminatedHosts } from './terminated-hosts.ts';
import {
  gatewayVerdicts,
  policyVerdicts,
  refusalOf,
  routeVerdict,
  type GatewayVerdict,
  type NodeState,
  type PolicyVerdict,
  type RouteVerdict,
} from './verdicts.ts';

export interface GatewayObjects {
  /** Those of classes of ours. */
  readonly gateways: readonly Stored<Gateway>[];
  readonly httpRoutes: readonly Stored<HttpRoute>[];
  readonly grpcRoutes: readonly Stored<GrpcRoute>[];
  readonly tlsRoutes: readonly Stored<TlsRoute>[];
  readonly backendTlsPolicies: readonly Stored<BackendTlsPolicy>[];
  /** `ca.crt` of a ConfigMap. */
  readonly authoritiesIn: PolicyContext['authoritiesIn'];
  readonly grants: readonly ReferenceGrant[];
  readonly labelsOfNamespace: (name: string) => Readonly<Record<string, string>>;
}

export interface GatewaySurroundings extends NodeState {
  readonly view: ClusterView;
  readonly certificates: SecretCertificates;
  readonly taken: ReadonlyMap<number, boolean>;
  /** Hosts that ingresses have, too. Gets those of the routes. */
  readonly shared: SharedHosts;
  /** What else the nodes need a port for; undefined: nothing. */
  readonly portUser: (port: number) => string | undefined;
}

export interface BuiltGateways {
  readonly ports: readonly PlannedListener[];
  readonly backends: Readonly<Record<string, Backend>>;
  readonly gateways: readonly GatewayVerdict[];
  readonly routes: readonly RouteVerdict[];
  readonly policies: readonly PolicyVerdict[];
}

/** A step for each route. */
export function* buildGateways(objects: GatewayObjects, surroundings: GatewaySurroundings): Steps<BuiltGateways> {
  const { grants } = objects;
  const accepted = objects.gateways.filter((gateway) => refusalOf(gateway) === undefined);
  const budget = new SnapshotBudget(GATEWAY_LIMITS);
  const listeners = yield* resolveListeners(accepted.toSorted(byAge), { ...surroundings, grants, budget });
  const all = [
    ...objects.httpRoutes.map((route) => ({ kind: 'HTTPRoute' as const, route })),
    ...objects.grpcRoutes.map((route) => ({ kind: 'GRPCRoute' as const, route })),
    ...objects.tlsRoutes.map((route) => ({ kind: 'TLSRoute' as const, route })),
  ].toSorted((a, b) => byAge(a.route, b.route));
  const context = {
    ...objects,
    listeners,
    services: new ServiceBackends(surroundings.view),
    budget: new SnapshotBudget(ROUTE_LIMITS),
    claims: new KindClaims(),
    policies: yield* policiesOf(objects, surroundings),
  };
  const own: OwnRoute[] = [];
  for (const { kind, route } of all) {
    const found = yield* ownRoute(kind, route, context);
    if (found !== undefined) own.push(found);
    if (found !== undefined) shareHosts(found, surroundings.shared);
    yield;
  }
  const verdicts = gatewayVerdicts(listeners, { gateways: objects.gateways, own, state: surroundings });
  const hosts = { shared: surroundings.shared, terminatedHosts: new TerminatedHosts(listeners, own) };
  return {
    ports: yield* portsOf(listeners, own, hosts),
    backends: Object.fromEntries(own.flatMap(({ converted }) => Object.entries(converted.backends))),
    gateways: verdicts,
    routes: own.map((one) => routeVerdict(one, hosts)),
    policies: policyVerdicts(context.policies, own),
  };
}

interface RouteSurroundings extends AttachContext, RouteContext {
  readonly budget: SnapshotBudget;
  readonly claims: KindClaims;
  readonly policies: BackendTlsPolicies;
}

/** Undefined: no parent of the route is ours. */
function* ownRoute(
  kind: OwnRoute['kind'],
  route: Stored<GatewayRoute>,
  context: RouteSurroundings,
): Steps<OwnRoute | undefined> {
  const attached = attachRoute(kind, route, context);
  if (attached.length === 0) return undefined;
  if (kind !== 'TLSRoute') yield* context.policies.resolve(servicesNamedBy(route));
  const found = convertRoute(kind, route, context);
  const parents = found.refusal === undefined ? context.claims.withoutTaken(kind, attached) : attached;
  const hostsByPort = servedHosts(parents);
  const converted = withinBudget(found, hostsByPort, context.budget.account(namespaceOf(route)));
  if (converted.refusal === undefined) context.claims.claim(kind, parents);
  return { kind, route, parents, converted, hostsByPort };
}

/** The route as it is, or refused where it would pass a limit. */
function withinBudget(
  converted: ConvertedRoute,
  hostsByPort: OwnRoute['hostsByPort'],
  account: BudgetAccount,
): ConvertedRoute {
  const lists = [...hostsByPort.values()];
  const passed = converted.passthrough === undefined ? [] : [converted.passthrough];
  const parts = new Set([...converted.routes.flatMap(({ rule, match }) => [rule, match]), ...passed, ...lists]);
  const perHost = converted.routes.length + passed.length;
  const placed = lists.reduce((sum, hosts) => sum + hosts.length, 0) * perHost;
  const limit = account.take(costOfRoutes(parts, placed), costOfBackends(converted.backends));
  if (limit === undefined) return converted;
  const refusal = { reason: LIMIT_EXCEEDED, message: `the route is not served: ${limit}` };
  return { ...converted, routes: [], passthrough: undefined, backends: {}, refusal };
}

function servedHosts(parents: readonly AttachedParent[]): OwnRoute['hostsByPort'] {
  const byPort = new Map<number, Set<string>>();
  for (const { attachments } of parents)
    for (const { listener, hosts } of attachments) {
      if (!listener.isServed) continue;
      const { port } = listener.listener;
      const known = byPort.get(port) ?? new Set();
      byPort.set(port, known);
      for (const host of hosts) known.add(host);
    }
  return new Map([...byPort].map(([port, hosts]) => [port, [...hosts]]));
}

function shareHosts({ kind, route, converted, hostsByPort }: OwnRoute, shared: SharedHosts): void {
  if (converted.refusal !== undefined) return;
  const { creationTimestamp: since = '', name } = route.metadata;
  const claim = { since, source: `${kind} ${namespaceOf(route)}/${name}` };
  for (const [port, hosts] of hostsByPort) for (const host of hosts) shared.addRoute(port, host, claim);
}

function* policiesOf(
  { backendTlsPolicies, authoritiesIn }: GatewayObjects,
  { view }: GatewaySurroundings,
): Steps<BackendTlsPolicies> {
  const service: PolicyContext['service'] = (namespace, name) => view.service(namespace, name);
  return yield* placePolicies(backendTlsPolicies.toSorted(byAge), { service, authoritiesIn });
}
