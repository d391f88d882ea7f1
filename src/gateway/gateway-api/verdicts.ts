/** What becomes of Gateways, routes and policies, as their status says it. Pure. */
import type { IngressLoadBalancerIngress } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { SharedHosts } from '../snapshot/host-claims.ts';
import type { AttachedParent } from './attach-routes.ts';
import type { BackendTlsPolicies, ResolvedPolicy } from './backend-tls-policies.ts';
import { byAge } from '../by-age.ts';
import { condition, type NewCondition } from './conditions.ts';
import type { ResolvedListener } from './listeners.ts';
import type { OwnRoute } from './own-route.ts';
import type { TerminatedHosts } from './terminated-hosts.ts';
import type { Gateway, GatewayRoute, ParentReference, RouteKind } from './types.ts';

/** What is known of the nodes that serve. */
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
  /** Those whose routes lead to a Service that the policy names. */
  readonly gateways: readonly Stored<Gateway>[];
}

/** The condition of routes whose host another object has; types of one implementation's own have its domain. */
const HOST_CONFLICT = 'keelson.dev/HostConflict';

/** The verdicts of policies that routes lead to. */
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

export function gatewayVerdicts(
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
): GatewayVerdict[] {
  const attached = attachedRoutes(own);
  const byGateway = Map.groupBy(listeners, ({ gateway }) => gateway);
  return gateways.map((gateway) => {
    const verdicts = (byGateway.get(gateway) ?? []).map((listener) =>
      listenerVerdict(listener, attached.get(listener) ?? 0, state),
    );
    return {
      gateway,
      listeners: verdicts,
      conditions: gatewayConditions(gateway, verdicts, state),
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

function listenerVerdict(listener: ResolvedListener, attached: number, { openPorts }: NodeState): ListenerVerdict {
  const { port } = listener.listener;
  const programmed = !listener.isServed
    ? condition('Programmed', false, 'Invalid', 'the listener is not served')
    : openPorts.has(port)
      ? condition('Programmed', true, 'Programmed', `port ${port} is open`)
      : condition('Programmed', false, 'Pending', `no node has opened port ${port}`);
  return { listener, attachedRoutes: attached, conditions: [...listener.conditions, programmed] };
}

/** Why nothing of a gateway is served: what it asks for is not known here. */
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

interface HostHolders {
  readonly shared: SharedHosts;
  readonly terminatedHosts: TerminatedHosts;
}

export function routeVerdict(one: OwnRoute, holders: HostHolders): RouteVerdict {
  const { kind, route, parents, converted } = one;
  return {
    kind,
    route,
    parents: parents.map((parent) => {
      const { parentRef, refusal } = parent;
      const why = refusal ?? converted.refusal;
      const accepted =
        why === undefined
          ? condition('Accepted', true, 'Accepted', 'the route is accepted')
          : condition('Accepted', false, why.reason, why.message);
      const conflict = why === undefined ? conflictOf(one, parent, holders) : undefined;
      return {
        parentRef,
        conditions: [accepted, converted.resolvedRefs, ...(conflict === undefined ? [] : [conflict])],
      };
    }),
  };
}

/** A condition of our own where a host of the route is another object's: it gets what that one does not take. */
function conflictOf(
  one: OwnRoute,
  { attachments }: AttachedParent,
  { shared, terminatedHosts }: HostHolders,
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
    }
  }
  return undefined;
}
