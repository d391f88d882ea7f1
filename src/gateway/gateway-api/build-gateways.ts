/** The part of a snapshot that Gateways and their routes make, and the status of all of them. Pure. */
import type { IngressLoadBalancerIngress } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import { appendAll } from '../../base/lists.ts';
import { sortSteps } from '../../base/sort-steps.ts';
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
import type { PlannedCertificate, PlannedListener } from '../snapshot/snapshot-plan.ts';
import { attachRoute, type AttachContext, type AttachedParent, type Attachment } from './attach-routes.ts';
import { condition, type NewCondition } from './conditions.ts';
import { KindClaims } from './kind-claims.ts';
import { resolveListeners, type ResolvedListener } from './listeners.ts';
import { convertRoute, type ConvertedRoute, type RankedRoute, type RouteContext } from './route-rules.ts';
import type { Gateway, GatewayRoute, GrpcRoute, HttpRoute, ParentReference, ReferenceGrant } from './types.ts';

export interface GatewayObjects {
  /** Those of classes of ours. */
  readonly gateways: readonly Stored<Gateway>[];
  readonly httpRoutes: readonly Stored<HttpRoute>[];
  readonly grpcRoutes: readonly Stored<GrpcRoute>[];
  readonly grants: readonly ReferenceGrant[];
  readonly labelsOfNamespace: (name: string) => Readonly<Record<string, string>>;
}

export interface GatewaySurroundings {
  readonly view: ClusterView;
  readonly certificates: SecretCertificates;
  readonly taken: ReadonlyMap<number, boolean>;
  /** Hosts that ingresses have, too. Gets those of the routes. */
  readonly shared: SharedHosts;
  /** What else the nodes need a port for; undefined: nothing. */
  readonly portUser: (port: number) => string | undefined;
  readonly addresses: readonly IngressLoadBalancerIngress[];
  /** Ports that nodes have opened. */
  readonly openPorts: ReadonlySet<number>;
}

export interface ListenerVerdict {
  readonly listener: ResolvedListener;
  readonly attachedRoutes: number;
  readonly conditions: readonly NewCondition[];
}

export interface GatewayVerdict {
  readonly gateway: Stored<Gateway>;
  readonly conditions: readonly NewCondition[];
  readonly listeners: readonly ListenerVerdict[];
}

export interface RouteVerdict {
  readonly kind: 'HTTPRoute' | 'GRPCRoute';
  readonly route: Stored<GatewayRoute>;
  readonly parents: readonly {
    readonly parentRef: ParentReference;
    readonly conditions: readonly NewCondition[];
  }[];
}

export interface BuiltGateways {
  readonly ports: readonly PlannedListener[];
  readonly backends: Readonly<Record<string, Backend>>;
  readonly gateways: readonly GatewayVerdict[];
  readonly routes: readonly RouteVerdict[];
}

/** The condition of routes whose host an older Ingress has; types of one implementation's own have its domain. */
const HOST_CONFLICT = 'keelson.dev/HostConflict';

interface PlacedRoute extends RankedRoute {
  readonly hosts: readonly string[];
}

interface OwnRoute {
  readonly kind: 'HTTPRoute' | 'GRPCRoute';
  readonly route: Stored<GatewayRoute>;
  readonly parents: readonly AttachedParent[];
  readonly converted: ConvertedRoute;
  /** Its host names on each port that serves it. */
  readonly hostsByPort: ReadonlyMap<number, readonly string[]>;
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
  ].toSorted((a, b) => byAge(a.route, b.route));
  const context = {
    ...objects,
    listeners,
    services: new ServiceBackends(surroundings.view),
    budget: new SnapshotBudget(ROUTE_LIMITS),
    claims: new KindClaims(),
  };
  const own: OwnRoute[] = [];
  for (const { kind, route } of all) {
    const found = ownRoute(kind, route, context);
    if (found !== undefined) own.push(found);
    if (found !== undefined) shareHosts(found, surroundings.shared);
    yield;
  }
  const verdicts = gatewayVerdicts(listeners, { objects, own, surroundings });
  return {
    ports: yield* portsOf(listeners, own),
    backends: Object.fromEntries(own.flatMap(({ converted }) => Object.entries(converted.backends))),
    gateways: verdicts,
    routes: own.map((one) => routeVerdict(one, surroundings.shared)),
  };
}

/** Undefined: no parent of the route is ours. */
function ownRoute(
  kind: OwnRoute['kind'],
  route: Stored<GatewayRoute>,
  context: AttachContext & RouteContext & { readonly budget: SnapshotBudget; readonly claims: KindClaims },
): OwnRoute | undefined {
  const attached = attachRoute(kind, route, context);
  if (attached.length === 0) return undefined;
  const found = convertRoute(kind, route, context);
  const parents = found.refusal === undefined ? context.claims.claim(kind, attached) : attached;
  const hostsByPort = servedHosts(parents);
  const converted = withinBudget(found, hostsByPort, context.budget.account(namespaceOf(route)));
  return { kind, route, parents, converted, hostsByPort };
}

/** The route as it is, or refused where it would pass a limit. */
function withinBudget(
  converted: ConvertedRoute,
  hostsByPort: OwnRoute['hostsByPort'],
  account: BudgetAccount,
): ConvertedRoute {
  const lists = [...hostsByPort.values()];
  const parts = new Set([...converted.routes.flatMap(({ rule, match }) => [rule, match]), ...lists]);
  const placed = lists.reduce((sum, hosts) => sum + hosts.length, 0) * converted.routes.length;
  const limit = account.take(costOfRoutes(parts, placed), costOfBackends(converted.backends));
  if (limit === undefined) return converted;
  const refusal = { reason: LIMIT_EXCEEDED, message: `the route is not served: ${limit}` };
  return { ...converted, routes: [], backends: {}, refusal };
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

function byAge(a: Stored<Gateway> | Stored<GatewayRoute>, b: Stored<Gateway> | Stored<GatewayRoute>): number {
  const key = ({ metadata }: typeof a): string =>
    `${metadata.creationTimestamp ?? ''} ${metadata.namespace}/${metadata.name}`;
  return key(a) < key(b) ? -1 : 1;
}

/** Routes come the oldest first, and a stable sort keeps them so where ranks are equal. */
function byRank(a: RankedRoute, b: RankedRoute): number {
  for (let at = 0; at < Math.max(a.rank.length, b.rank.length); at++) {
    const difference = (b.rank[at] ?? 0) - (a.rank[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function* portsOf(listeners: readonly ResolvedListener[], own: readonly OwnRoute[]): Steps<PlannedListener[]> {
  const ports = new Map<number, { isTls: boolean; placed: PlacedRoute[]; certificates: PlannedCertificate[] }>();
  for (const { listener, isTls, isServed, certificates } of listeners) {
    if (!isServed) continue;
    const port = ports.get(listener.port) ?? { isTls, placed: [], certificates: [] };
    ports.set(listener.port, port);
    appendAll(port.certificates, certificates);
  }
  for (const { converted, hostsByPort } of own) {
    for (const [port, hosts] of hostsByPort) {
      const { placed } = ports.get(port)!;
      for (const route of converted.routes) placed.push({ ...route, hosts });
    }
    yield;
  }
  const planned: PlannedListener[] = [];
  for (const [port, { isTls, placed, certificates }] of ports) {
    const routes = yield* sortSteps(placed, byRank);
    planned.push({ port, isTls, certificates, routes });
  }
  return planned;
}

function gatewayVerdicts(
  listeners: readonly ResolvedListener[],
  {
    objects,
    own,
    surroundings,
  }: {
    readonly objects: GatewayObjects;
    readonly own: readonly OwnRoute[];
    readonly surroundings: GatewaySurroundings;
  },
): GatewayVerdict[] {
  const attached = attachedRoutes(own);
  const byGateway = Map.groupBy(listeners, ({ gateway }) => gateway);
  return objects.gateways.map((gateway) => {
    const verdicts = (byGateway.get(gateway) ?? []).map((listener) =>
      listenerVerdict(listener, attached.get(listener) ?? 0, surroundings),
    );
    return {
      gateway,
      listeners: verdicts,
      conditions: gatewayConditions(gateway, verdicts, surroundings),
    };
  });
}

/** How many routes each listener has. */
function attachedRoutes(own: readonly OwnRoute[]): ReadonlyMap<ResolvedListener, number> {
  const counts = new Map<ResolvedListener, number>();
  for (const { parents, converted } of own) {
    if (converted.refusal !== undefined) continue;
    const listeners = new Set(parents.flatMap(({ attachments }) => attachments.map(({ listener }) => listener)));
    for (const listener of listeners) counts.set(listener, (counts.get(listener) ?? 0) + 1);
  }
  return counts;
}

function listenerVerdict(
  listener: ResolvedListener,
  attached: number,
  { openPorts }: GatewaySurroundings,
): ListenerVerdict {
  const { port } = listener.listener;
  const programmed = !listener.isServed
    ? condition('Programmed', false, 'Invalid', 'the listener is not served')
    : openPorts.has(port)
      ? condition('Programmed', true, 'Programmed', `port ${port} is open`)
      : condition('Programmed', false, 'Pending', `no node has opened port ${port}`);
  return { listener, attachedRoutes: attached, conditions: [...listener.conditions, programmed] };
}

/** Why nothing of a gateway is served: what it asks for is not known here. */
function refusalOf({ spec }: Stored<Gateway>): NewCondition | undefined {
  if (spec.infrastructure?.parametersRef !== undefined)
    return condition('Accepted', false, 'InvalidParameters', 'parameters of gateways are not known');
  if (spec.tls !== undefined)
    return condition('Accepted', false, 'UnsupportedValue', 'spec.tls (client certificates) is not served');
  const badType = spec.addresses?.find(({ type = 'IPAddress' }) => type !== 'IPAddress');
  if (badType === undefined) return undefined;
  return condition('Accepted', false, 'UnsupportedAddress', `addresses of type ${badType.type} are not served`);
}

function gatewayConditions(
  gateway: Stored<Gateway>,
  listeners: readonly ListenerVerdict[],
  { addresses, openPorts }: GatewaySurroundings,
): NewCondition[] {
  const refusal = refusalOf(gateway);
  if (refusal !== undefined) return [refusal, condition('Programmed', false, 'Invalid', refusal.message)];
  const { spec } = gateway;
  const valid = listeners.filter(({ listener }) => listener.isServed);
  const accepted =
    valid.length === listeners.length
      ? condition('Accepted', true, 'Accepted', 'the gateway is accepted')
      : condition('Accepted', valid.length > 0, 'ListenersNotValid', 'some listeners are not valid');
  const foreign = spec.addresses?.find(({ value }) => value !== undefined && !addresses.some(({ ip }) => ip === value));
  if (foreign !== undefined && addresses.length > 0)
    return [
      accepted,
      condition('Programmed', false, 'AddressNotUsable', `${foreign.value} is no address of a node that serves`),
    ];
  const isOpen =
    valid.length > 0 && addresses.length > 0 && valid.every(({ listener }) => openPorts.has(listener.listener.port));
  const programmed = isOpen
    ? condition('Programmed', true, 'Programmed', 'its ports are open')
    : condition(
        'Programmed',
        false,
        valid.length === 0 ? 'Invalid' : 'Pending',
        'not all of its ports are open on a node',
      );
  return [accepted, programmed];
}

function routeVerdict({ kind, route, parents, converted }: OwnRoute, shared: SharedHosts): RouteVerdict {
  return {
    kind,
    route,
    parents: parents.map(({ parentRef, refusal, attachments }) => {
      const why = refusal ?? converted.refusal;
      const accepted =
        why === undefined
          ? condition('Accepted', true, 'Accepted', 'the route is accepted')
          : condition('Accepted', false, why.reason, why.message);
      const conflict = why === undefined ? conflictOf(attachments, shared) : undefined;
      return {
        parentRef,
        conditions: [accepted, converted.resolvedRefs, ...(conflict === undefined ? [] : [conflict])],
      };
    }),
  };
}

/** A condition of our own where an older Ingress has a host of the route: it gets what the ingress does not take. */
function conflictOf(attachments: readonly Attachment[], shared: SharedHosts): NewCondition | undefined {
  for (const { listener, hosts } of attachments) {
    const { port } = listener.listener;
    for (const host of hosts) {
      const before = shared.ingressBefore(port, host);
      if (before === undefined) continue;
      const message = `${before.source}, which is older, is asked first for ${host || 'all hosts'} on port ${port}`;
      return condition(HOST_CONFLICT, true, 'OlderIngress', message);
    }
  }
  return undefined;
}
