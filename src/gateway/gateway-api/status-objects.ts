/** Computes the desired status of each object. Pure; the status writer writes the differences. */
import type { IngressLoadBalancerIngress } from '../../api/gen/networking-v1.ts';
import { GATEWAY_CONTROLLER } from '../../component-helpers/gateway-class.ts';
import type { GatewayVerdict, PolicyVerdict, RouteVerdict } from './verdicts.ts';
import { condition, stampConditions } from './conditions.ts';
import type {
  BackendTlsPolicy,
  Gateway,
  GatewayClass,
  GatewayRoute,
  PolicyAncestorStatus,
  RouteParentStatus,
} from './types.ts';

/** The supported features by the names of upstream's conformance tests, sorted. */
export const SUPPORTED_FEATURES: readonly string[] = [
  'BackendTLSPolicy',
  'BackendTLSPolicySANValidation',
  'GRPCRoute',
  'GRPCRouteNamedRouteRule',
  'GRPCRouteRequestHeaderModifier',
  'Gateway',
  'GatewayAddressEmpty',
  'GatewayHTTPListenerIsolation',
  'GatewayPort8080',
  'HTTPRoute',
  'HTTPRoute303RedirectStatusCode',
  'HTTPRoute307RedirectStatusCode',
  'HTTPRoute308RedirectStatusCode',
  'HTTPRouteBackendProtocolH2C',
  'HTTPRouteBackendProtocolWebSocket',
  'HTTPRouteBackendRequestHeaderModification',
  'HTTPRouteBackendTimeout',
  'HTTPRouteDestinationPortMatching',
  'HTTPRouteHostRewrite',
  'HTTPRouteMethodMatching',
  'HTTPRouteNamedRouteRule',
  'HTTPRouteParentRefPort',
  'HTTPRoutePathRedirect',
  'HTTPRoutePathRewrite',
  'HTTPRoutePortRedirect',
  'HTTPRouteQueryParamMatching',
  'HTTPRouteRequestMirror',
  'HTTPRouteRequestMultipleMirrors',
  'HTTPRouteRequestPercentageMirror',
  'HTTPRouteRequestTimeout',
  'HTTPRouteResponseHeaderModification',
  'HTTPRouteSchemeRedirect',
  'ReferenceGrant',
  'TLSRoute',
  'TLSRouteModeMixed',
  'TLSRouteModeTerminate',
];

const GROUP = 'gateway.networking.k8s.io';
/** The limit in the kind's definition. */
const MAX_ANCESTORS = 16;

export function classStatus(
  { metadata, spec, status }: GatewayClass,
  features: readonly string[],
  time: string,
): NonNullable<GatewayClass['status']> {
  const accepted =
    spec.parametersRef === undefined
      ? condition('Accepted', true, 'Accepted', 'the class is served by Keelson')
      : condition('Accepted', false, 'InvalidParameters', 'parameters of classes are not known');
  return {
    conditions: stampConditions([accepted], status?.conditions, {
      generation: Number(metadata.generation ?? 0),
      time,
    }),
    supportedFeatures: features.map((name) => ({ name })),
  };
}

export function gatewayStatus(
  { gateway, conditions, listeners }: GatewayVerdict,
  addresses: readonly IngressLoadBalancerIngress[],
  time: string,
): NonNullable<Gateway['status']> {
  const { metadata, status } = gateway;
  const stamp = { generation: Number(metadata.generation ?? 0), time };
  return {
    addresses: addresses.map(({ ip = '' }) => ({ type: 'IPAddress', value: ip })),
    conditions: stampConditions(conditions, status?.conditions, stamp),
    listeners: listeners.map(({ listener, attachedRoutes, conditions: own }) => {
      const { name } = listener.listener;
      const before = status?.listeners?.find((one) => one.name === name);
      return {
        name,
        supportedKinds: listener.kinds.map((kind) => ({ group: GROUP, kind })),
        attachedRoutes,
        conditions: stampConditions(own, before?.conditions, stamp),
      };
    }),
  };
}

/** Sets the entries of our Gateways; those of other controllers stay. */
export function policyAncestors(
  { metadata, status }: BackendTlsPolicy,
  verdict: Pick<PolicyVerdict, 'gateways' | 'conditions'> | undefined,
  time: string,
): PolicyAncestorStatus[] {
  const stamp = { generation: Number(metadata.generation ?? 0), time };
  const before = status?.ancestors ?? [];
  const others = before.filter(({ controllerName }) => controllerName !== GATEWAY_CONTROLLER);
  const own = (verdict?.gateways ?? []).slice(0, Math.max(0, MAX_ANCESTORS - others.length)).map((gateway) => {
    const { namespace, name } = gateway.metadata;
    const old = before.find(
      ({ controllerName, ancestorRef }) =>
        controllerName === GATEWAY_CONTROLLER && ancestorRef.namespace === namespace && ancestorRef.name === name,
    );
    return {
      ancestorRef: { group: GROUP, kind: 'Gateway', namespace, name },
      controllerName: GATEWAY_CONTROLLER,
      conditions: stampConditions(verdict?.conditions ?? [], old?.conditions, stamp),
    };
  });
  return [...others, ...own];
}

/** Sets our entries; those of other controllers stay. `verdict` is absent for a route without a parent of ours. */
export function routeParents(
  { metadata, status }: GatewayRoute,
  verdict: RouteVerdict | undefined,
  time: string,
): RouteParentStatus[] {
  const stamp = { generation: Number(metadata.generation ?? 0), time };
  const before = status?.parents ?? [];
  const own = (verdict?.parents ?? []).map(({ parentRef, conditions }): RouteParentStatus => {
    const old = before.find(
      (one) => one.controllerName === GATEWAY_CONTROLLER && JSON.stringify(one.parentRef) === JSON.stringify(parentRef),
    );
    return {
      parentRef,
      controllerName: GATEWAY_CONTROLLER,
      conditions: stampConditions(conditions, old?.conditions, stamp),
    };
  });
  return [...before.filter(({ controllerName }) => controllerName !== GATEWAY_CONTROLLER), ...own];
}
