/** Builds the part of a snapshot for Gateways and their routes, and the status of all of them. Pure. */
import type { Stored } from '../../api/object.ts';
import type { Steps } from '../../base/steps.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { ClusterView } from '../snapshot/cluster-view.ts';
import { costOfBackends, costOfPatterns, costOfRoutes } from '../snapshot/route-cost.ts';
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
import {
  convertRoute,
  convertTlsRoute,
  servicesNamedBy,
  type ConvertedRoute,
  type RouteContext,
  type TlsModes,
} from './route-rules.ts';
import type {
  BackendTlsPolicy,
  Gateway,
  GatewayRoute,
  GrpcRoute,
  HttpRoute,
  ReferenceGrant,
  TlsRoute,
} from './types.ts';
import { HostOrder } from './host-order.ts';
import { patternsOf } from './route-matches.ts';
import { placesOf, type OwnRoute } from './own-route.ts';
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
  /** Gateways of our classes. */
  readonly gateways: readonly Stored<Gateway>[];
  readonly httpRoutes: readonly Stored<HttpRoute>[];
  readonly grpcRoutes: readonly Stored<GrpcRoute>[];
  readonly tlsRoutes: readonly Stored<TlsRoute>[];
  readonly backendTlsPolicies: readonly Stored<BackendTlsPolicy>[];
  /** The `ca.crt` of a ConfigMap. */
  readonly authoritiesIn: PolicyContext['authoritiesIn'];
  readonly grants: readonly ReferenceGrant[];
  readonly labelsOfNamespace: (name: string) => Readonly<Record<string, string>>;
}

export interface GatewaySurroundings extends NodeState {
  readonly view: ClusterView;
  readonly certificates: SecretCertificates;
  readonly taken: ReadonlyMap<number, boolean>;
  /** Hosts that ingresses have, too. The hosts of routes are added. */
  readonly shared: SharedHosts;
  /** The component of the node that uses a port; undefined for a free one. */
  readonly portUser: (port: number) => string | undefined;
}

export interface BuiltGateways {
  readonly ports: readonly PlannedListener[];
  readonly backends: Readonly<Record<string, Backend>>;
  readonly gateways: readonly GatewayVerdict[];
  readonly routes: readonly RouteVerdict[];
  readonly policies: readonly PolicyVerdict[];
}

/** One step for each route. */
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
  const verdicts = yield* gatewayVerdicts(listeners, { gateways: objects.gateways, own, state: surroundings });
  const hosts = {
    shared: surroundings.shared,
    terminatedHosts: new TerminatedHosts(listeners, own),
    order: new HostOrder(listeners, own),
  };
  const ports = yield* portsOf(listeners, own, hosts);
  const routes: RouteVerdict[] = [];
  for (const one of own) routes.push(yield* routeVerdict(one, hosts));
  return {
    ports,
    backends: Object.fromEntries(own.flatMap(({ converted }) => Object.entries(converted.backends))),
    gateways: verdicts,
    routes,
    policies: policyVerdicts(context.policies, own),
  };
}

interface RouteSurroundings extends AttachContext, RouteContext {
  readonly budget: SnapshotBudget;
  readonly claims: KindClaims;
  readonly policies: BackendTlsPolicies;
}

/** Undefined when no parent of the route is ours. */
function* ownRoute(
  kind: OwnRoute['kind'],
  route: Stored<GatewayRoute>,
  context: RouteSurroundings,
): Steps<OwnRoute | undefined> {
  const attached = yield* attachRoute(kind, route, context);
  if (attached.length === 0) return undefined;
  const modes = modesOf(attached);
  if (kind !== 'TLSRoute' || modes.isTerminated) yield* context.policies.resolve(servicesNamedBy(route));
  const account = context.budget.account(namespaceOf(route));
  // Also of a route that is refused later: its patterns are compiled in every snapshot.
  const excess = account.take(costOfPatterns(patternsOf(route)));
  const convertedRoute =
    kind === 'TLSRoute'
      ? convertTlsRoute(route, modes, context)
      : yield* convertRoute(kind, excess === undefined ? route : withoutMatches(route), context);
  const parents = convertedRoute.refusal === undefined ? context.claims.withoutTaken(kind, attached) : attached;
  const places = placesOf(parents);
  const converted =
    excess === undefined ? withinBudget(convertedRoute, places, account) : refusedFor(excess, convertedRoute);
  if (converted.refusal === undefined) context.claims.claim(kind, parents);
  return { kind, route, parents, converted, places };
}

/** The route with its references alone. */
function withoutMatches(route: Stored<GatewayRoute>): Stored<GatewayRoute> {
  const rules = (route.spec.rules ?? []).map((rule) => ({ ...rule, matches: [] }));
  return { ...route, spec: { ...route.spec, rules } };
}

function modesOf(parents: readonly AttachedParent[]): TlsModes {
  const listeners = parents.flatMap(({ attachments }) => attachments.map(({ listener }) => listener));
  return {
    isPassed: listeners.some(({ isPassthrough }) => isPassthrough),
    isTerminated: listeners.some(({ isPassthrough }) => !isPassthrough),
  };
}

/** The route, or its refusal when it would exceed a limit. */
function withinBudget(converted: ConvertedRoute, places: OwnRoute['places'], account: BudgetAccount): ConvertedRoute {
  const lists = places.map(({ hosts }) => hosts);
  const excepted = places.flatMap(({ except }) => (except === undefined ? [] : [except]));
  const passed = converted.connections;
  const rules = converted.routes.flatMap(({ rule, match }) => [rule, match]);
  const parts = new Set<object>([...rules, ...passed, ...lists, ...excepted]);
  const perHost = converted.routes.length + passed.length;
  const placed = lists.reduce((sum, hosts) => sum + hosts.length, 0) * perHost;
  const limit = account.take(costOfRoutes(parts, placed), costOfBackends(converted.backends));
  return limit === undefined ? converted : refusedFor(limit, converted);
}

function refusedFor(limit: string, converted: ConvertedRoute): ConvertedRoute {
  const refusal = { reason: LIMIT_EXCEEDED, message: `the route is not served: ${limit}` };
  return { ...converted, routes: [], connections: [], backends: {}, refusal };
}

function shareHosts({ kind, route, converted, places }: OwnRoute, shared: SharedHosts): void {
  if (converted.refusal !== undefined) return;
  const { creationTimestamp: since = '', name } = route.metadata;
  const claim = { since, source: `${kind} ${namespaceOf(route)}/${name}` };
  for (const { port, hosts } of places) for (const host of hosts) shared.addRoute(port, host, claim);
}

function* policiesOf(
  { backendTlsPolicies, authoritiesIn }: GatewayObjects,
  { view }: GatewaySurroundings,
): Steps<BackendTlsPolicies> {
  const service: PolicyContext['service'] = (namespace, name) => view.service(namespace, name);
  return yield* placePolicies(backendTlsPolicies.toSorted(byAge), { service, authoritiesIn });
}
