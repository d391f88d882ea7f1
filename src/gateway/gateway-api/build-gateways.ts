/** The part of a snapshot that Gateways and their routes make, and the status of all of them. Pure. */
import type { IngressLoadBalancerIngress } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import { appendAll } from '../../base/lists.ts';
import type { InspectCertificate } from '../ingress/tls-certificates.ts';
import type { ClusterView } from '../snapshot/cluster-view.ts';
import type { Backend, Route, ServedCertificate } from '../snapshot/snapshot.ts';
import { attachRoute, type AttachedParent } from './attach-routes.ts';
import { condition, type NewCondition } from './conditions.ts';
import { resolveListeners, type ResolvedListener } from './listeners.ts';
import { convertRoute, type ConvertedRoute, type RankedRoute } from './route-rules.ts';
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
  readonly inspect: InspectCertificate;
  readonly taken: ReadonlyMap<number, boolean>;
  /** What else the nodes need a port for; undefined: nothing. */
  readonly portUser: (port: number) => string | undefined;
  readonly addresses: readonly IngressLoadBalancerIngress[];
  /** Ports that nodes have opened. */
  readonly openPorts: ReadonlySet<number>;
}

export interface GatewayPort {
  readonly port: number;
  readonly isTls: boolean;
  readonly routes: readonly Route[];
  readonly certificates: readonly ServedCertificate[];
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
  readonly ports: readonly GatewayPort[];
  readonly backends: Readonly<Record<string, Backend>>;
  readonly gateways: readonly GatewayVerdict[];
  readonly routes: readonly RouteVerdict[];
}

interface PlacedRoute extends RankedRoute {
  readonly host: string;
}

interface OwnRoute {
  readonly kind: 'HTTPRoute' | 'GRPCRoute';
  readonly route: Stored<GatewayRoute>;
  readonly parents: readonly AttachedParent[];
  readonly converted: ConvertedRoute;
}

export function buildGateways(objects: GatewayObjects, surroundings: GatewaySurroundings): BuiltGateways {
  const { grants, labelsOfNamespace } = objects;
  const accepted = objects.gateways.filter((gateway) => refusalOf(gateway) === undefined);
  const listeners = resolveListeners(accepted.toSorted(byAge), { ...surroundings, grants });
  const all = [
    ...objects.httpRoutes.map((route) => ({ kind: 'HTTPRoute' as const, route })),
    ...objects.grpcRoutes.map((route) => ({ kind: 'GRPCRoute' as const, route })),
  ].toSorted((a, b) => byAge(a.route, b.route));
  const own = all.flatMap(({ kind, route }): OwnRoute[] => {
    const parents = attachRoute(kind, route, { listeners, labelsOfNamespace });
    if (parents.length === 0) return [];
    return [
      {
        kind,
        route,
        parents,
        converted: convertRoute(kind, route, { view: surroundings.view, grants }),
      },
    ];
  });
  return {
    ports: portsOf(listeners, own),
    backends: Object.fromEntries(own.flatMap(({ converted }) => Object.entries(converted.backends))),
    gateways: gatewayVerdicts(listeners, { objects, own, surroundings }),
    routes: own.map(routeVerdict),
  };
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

function portsOf(listeners: readonly ResolvedListener[], own: readonly OwnRoute[]): GatewayPort[] {
  const ports = new Map<number, { isTls: boolean; placed: PlacedRoute[]; certificates: ServedCertificate[] }>();
  for (const { listener, isTls, isServed, certificates } of listeners) {
    if (!isServed) continue;
    const port = ports.get(listener.port) ?? { isTls, placed: [], certificates: [] };
    ports.set(listener.port, port);
    appendAll(port.certificates, certificates);
  }
  const attached = own.flatMap(({ parents, converted }) =>
    parents.flatMap(({ attachments }) => attachments.map((one) => ({ ...one, converted }))),
  );
  for (const { listener, hosts, converted } of attached) {
    if (!listener.isServed) continue;
    const placed = ports.get(listener.listener.port)?.placed ?? [];
    for (const host of hosts) for (const route of converted.routes) placed.push({ ...route, host });
  }
  return [...ports].map(([port, { isTls, placed, certificates }]) => ({
    port,
    isTls,
    certificates,
    routes: placed.toSorted(byRank).map(({ route, host }) => ({ ...route, host })),
  }));
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
  return objects.gateways.map((gateway) => {
    const verdicts = listeners
      .filter((one) => one.gateway === gateway)
      .map((listener) => listenerVerdict(listener, own, surroundings));
    return {
      gateway,
      listeners: verdicts,
      conditions: gatewayConditions(gateway, verdicts, surroundings),
    };
  });
}

function listenerVerdict(
  listener: ResolvedListener,
  own: readonly OwnRoute[],
  { openPorts }: GatewaySurroundings,
): ListenerVerdict {
  const attachedRoutes = own.filter(
    ({ parents, converted }) =>
      converted.refusal === undefined &&
      parents.some(({ attachments }) => attachments.some((one) => one.listener === listener)),
  ).length;
  const { port } = listener.listener;
  const programmed = !listener.isServed
    ? condition('Programmed', false, 'Invalid', 'the listener is not served')
    : openPorts.has(port)
      ? condition('Programmed', true, 'Programmed', `port ${port} is open`)
      : condition('Programmed', false, 'Pending', `no node has opened port ${port}`);
  return { listener, attachedRoutes, conditions: [...listener.conditions, programmed] };
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

function routeVerdict({ kind, route, parents, converted }: OwnRoute): RouteVerdict {
  return {
    kind,
    route,
    parents: parents.map(({ parentRef, refusal }) => {
      const why = refusal ?? converted.refusal;
      const accepted =
        why === undefined
          ? condition('Accepted', true, 'Accepted', 'the route is accepted')
          : condition('Accepted', false, why.reason, why.message);
      return { parentRef, conditions: [accepted, converted.resolvedRefs] };
    }),
  };
}
