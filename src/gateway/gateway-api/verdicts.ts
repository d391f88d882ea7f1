/** Computes the conditions of Gateways, routes and policies for their statuses. Pure. */
import type { IngressLoadBalancerIngress } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Steps } from '../../base/steps.ts';
import type { AttachedParent } from './attach-routes.ts';
import type { BackendTlsPolicies, ResolvedPolicy } from './backend-tls-policies.ts';
import { byAge } from '../by-age.ts';
import { condition, type NewCondition } from './conditions.ts';
import type { ResolvedListener } from './listeners.ts';
import type { OwnRoute } from './own-route.ts';
import type { HostHolders } from './port-plans.ts';
import type { Gateway, GatewayRoute, ParentReference, RouteKind } from './types.ts';

/** The state of the nodes that serve routes. */
export interface NodeState {
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
  readonly kind: RouteKind;
  readonly route: Stored<GatewayRoute>;
  readonly parents: readonly {
    readonly parentRef: ParentReference;
    readonly conditions: readonly NewCondition[];
  }[];
}

export interface PolicyVerdict extends Pick<ResolvedPolicy, 'policy' | 'conditions'> {
  /** Gateways whose routes refer to a Service that the policy targets. */
  readonly gateways: readonly Stored<Gateway>[];
}

/** The condition of routes whose host another object has; types of one implementation have its domain. */
const HOST_CONFLICT = 'keelson.dev/HostConflict';

/** The verdicts on policies that routes refer to. */
export function policyVerdicts(policies: BackendTlsPolicies, own: readonly OwnRoute[]): PolicyVerdict[] {
  const byService = new Map<string, Set<Stored<Gateway>>>();
  const all = policies.resolved();
  if (all.length === 0) return [];
  for (const { parents, converted } of own)
    for (const service of converted.services) {
      const gateways = byService.get(service) ?? new Set();
      byService.set(service, gateways);
      for (const { attachments } of parents) for (const { listener } of attachments) gateways.add(listener.gateway);
    }
  return all.map(({ policy, services, conditions }) => {
    const gateways = new Set(services.flatMap((service) => [...(byService.get(service) ?? [])]));
    return { policy, conditions, gateways: [...gateways].toSorted(byAge) };
  });
}

/** One step for each Gateway. */
export function* gatewayVerdicts(
  listeners: readonly ResolvedListener[],
  {
    gateways,
    own,
    state,
  }: {
    readonly gateways: readonly Stored<Gateway>[];
    readonly own: readonly OwnRoute[];
    readonly state: NodeState;
  },
): Steps<GatewayVerdict[]> {
  const attached = yield* attachedRoutes(own);
  const byGateway = Map.groupBy(listeners, ({ gateway }) => gateway);
  const found: GatewayVerdict[] = [];
  for (const gateway of gateways) {
    const verdicts = (byGateway.get(gateway) ?? []).map((listener) =>
      listenerVerdict(listener, attached.get(listener) ?? 0, state),
    );
    found.push({ gateway, listeners: verdicts, conditions: gatewayConditions(gateway, verdicts, state) });
    yield;
  }
  return found;
}

/** The number of routes of each listener. */
function* attachedRoutes(own: readonly OwnRoute[]): Steps<ReadonlyMap<ResolvedListener, number>> {
  const counts = new Map<ResolvedListener, number>();
  for (const { parents, converted } of own) {
    if (converted.refusal !== undefined) continue;
    const listeners = new Set(parents.flatMap(({ attachments }) => attachments.map(({ listener }) => listener)));
    for (const listener of listeners) counts.set(listener, (counts.get(listener) ?? 0) + 1);
    yield;
  }
  return counts;
}

function listenerVerdict(listener: ResolvedListener, attached: number, { openPorts }: NodeState): ListenerVerdict {
  const { port } = listener.listener;
  const programmed = !listener.isServed
    ? condition('Programmed', false, 'Invalid', 'the listener is not served')
    : openPorts.has(port)
      ? condition('Programmed', true, 'Programmed', `port ${port} is open`)
      : condition('Programmed', false, 'Pending', `no node has opened port ${port}`);
  return { listener, attachedRoutes: attached, conditions: [...listener.conditions, programmed] };
}

/** The reason why a gateway is not served: it uses an unsupported field. Undefined for a supported one. */
export function refusalOf({ spec }: Stored<Gateway>): NewCondition | undefined {
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
  { addresses, openPorts }: NodeState,
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

/** One step for each parent. */
export function* routeVerdict(one: OwnRoute, holders: HostHolders): Steps<RouteVerdict> {
  const { kind, route, converted } = one;
  const parents: RouteVerdict['parents'][number][] = [];
  for (const parent of one.parents) {
    const { parentRef, refusal } = parent;
    const why = refusal ?? converted.refusal;
    const accepted =
      why === undefined
        ? condition('Accepted', true, 'Accepted', 'the route is accepted')
        : condition('Accepted', false, why.reason, why.message);
    const conflict = why === undefined ? conflictOf(one, parent, holders) : undefined;
    parents.push({
      parentRef,
      conditions: [accepted, converted.resolvedRefs, ...(conflict === undefined ? [] : [conflict])],
    });
    yield;
  }
  return { kind, route, parents };
}

/** A condition of our own when another object has a host of the route, which gets the requests that the other does not match. */
function conflictOf(
  one: OwnRoute,
  { attachments }: AttachedParent,
  { shared, terminatedHosts, order }: HostHolders,
): NewCondition | undefined {
  for (const { listener, hosts } of attachments) {
    const { port } = listener.listener;
    for (const host of hosts) {
      const where = `has precedence for ${host || 'all hosts'} on port ${port}`;
      const ingress = shared.ingressBefore(port, host);
      if (ingress !== undefined)
        return condition(HOST_CONFLICT, true, 'OlderIngress', `${ingress.source}, which is older, ${where}`);
      const other = one.kind === 'TLSRoute' ? terminatedHosts.before(one, listener, host) : undefined;
      if (other !== undefined)
        return condition(HOST_CONFLICT, true, 'TerminatedHost', `${other.source}, which terminates TLS, ${where}`);
      const older = listener.isHttp ? order.before(port, host, listener.gateway) : undefined;
      if (older !== undefined)
        return condition(
          HOST_CONFLICT,
          true,
          'OlderRoute',
          `${older.source} of another Gateway, which is older, ${where}`,
        );
    }
  }
  return undefined;
}
