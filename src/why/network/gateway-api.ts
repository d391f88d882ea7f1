/**
 * Explains why a gateway or a route of the Gateway API has no effect. The kinds are custom resources of
 * gateway.networking.k8s.io.
 */
import { Services } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import { conditionCauses, type Condition } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOf, nameOfObject } from '../object-name.ts';

function infoOf(kind: string, resource: string, namespaced: boolean): ResourceInfo<KubernetesObject> {
  return {
    group: 'gateway.networking.k8s.io',
    version: 'v1',
    kind,
    resource,
    listKind: `${kind}List`,
    singular: kind.toLowerCase(),
    namespaced,
    verbs: ['get', 'list'],
    subresources: [],
    shortNames: [],
    categories: [],
  };
}

export const Gateways = infoOf('Gateway', 'gateways', true);
export const HttpRoutes = infoOf('HTTPRoute', 'httproutes', true);
export const GrpcRoutes = infoOf('GRPCRoute', 'grpcroutes', true);
export const TlsRoutes = infoOf('TLSRoute', 'tlsroutes', true);
export const BackendTlsPolicies = infoOf('BackendTLSPolicy', 'backendtlspolicies', true);
const GatewayClasses = infoOf('GatewayClass', 'gatewayclasses', false);

/** The kind in the version of the object: all kinds of the group are served in the same versions. */
function inVersionOf(
  { apiVersion = '' }: KubernetesObject,
  info: ResourceInfo<KubernetesObject>,
): ResourceInfo<KubernetesObject> {
  return { ...info, version: apiVersion.split('/')[1] ?? info.version };
}

interface ObjectReferenceLike {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
}

interface Gateway extends KubernetesObject {
  readonly spec?: { readonly gatewayClassName?: string };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly listeners?: readonly { readonly name?: string; readonly conditions?: readonly Condition[] }[];
  };
}

interface Route extends KubernetesObject {
  readonly spec?: {
    readonly parentRefs?: readonly ObjectReferenceLike[];
    readonly rules?: readonly { readonly backendRefs?: readonly ObjectReferenceLike[] }[];
  };
  readonly status?: {
    readonly parents?: readonly {
      readonly parentRef?: ObjectReferenceLike;
      readonly conditions?: readonly Condition[];
    }[];
  };
}

export async function explainGateway(object: KubernetesObject, evidence: Evidence): Promise<Diagnosis> {
  const gateway = object as Gateway;
  const { conditions = [], listeners = [] } = gateway.status ?? {};
  const summary = `has ${listeners.length} ${listeners.length === 1 ? 'listener' : 'listeners'} set up`;
  const name = gateway.spec?.gatewayClassName ?? '';
  if ((await evidence.get(inVersionOf(gateway, GatewayClasses), { name })).missing) {
    const message = `gateway class ${name} does not exist`;
    const cure = {
      text: `install the controller of class ${name}, or name another`,
      command: 'kubectl get gatewayclass',
    };
    const at = nameOf(GatewayClasses, { name });
    return { state: 'Trouble', summary, causes: [cause({ code: 'GatewayClassMissing', object: at, message, cure })] };
  }
  const causes = [
    ...conditionCauses(Gateways, gateway),
    ...listeners.flatMap((listener) => conditionCauses(Gateways, withConditions(gateway, listener.conditions))),
  ];
  if (causes.length === 0 && !conditions.some(isSettled)) causes.push(notServedCause(Gateways, gateway));
  return { state: causes.length === 0 ? 'Fine' : 'Trouble', summary, causes };
}

/** An explainer of one kind of routes. */
export function explainRoute(info: ResourceInfo<KubernetesObject>) {
  return (object: KubernetesObject, evidence: Evidence): Promise<Diagnosis> => explain(info, object, evidence);
}

async function explain(
  info: ResourceInfo<KubernetesObject>,
  object: KubernetesObject,
  evidence: Evidence,
): Promise<Diagnosis> {
  const route = object as Route;
  const parents = route.status?.parents ?? [];
  const { length: wanted } = route.spec?.parentRefs ?? [];
  const summary = `is taken up by ${parents.length} of ${wanted} parents`;
  const causes = [
    ...(await parentCauses(route, evidence)),
    ...(await backendCauses(route, evidence)),
    ...parents.flatMap(({ conditions }) => conditionCauses(info, withConditions(route, conditions))),
  ];
  if (causes.length === 0 && parents.length === 0) causes.push(notServedCause(info, route));
  return { state: causes.length === 0 ? 'Fine' : 'Trouble', summary, causes };
}

async function parentCauses(route: Route, evidence: Evidence): Promise<readonly Cause[]> {
  const own = namespaceOf(route);
  const info = inVersionOf(route, Gateways);
  const causes: Cause[] = [];
  for (const { kind = 'Gateway', namespace = own, name = '' } of route.spec?.parentRefs ?? []) {
    if (kind !== 'Gateway' || !(await evidence.get(info, { namespace, name })).missing) continue;
    const object = nameOf(Gateways, { namespace, name });
    const cure = { text: `create gateway ${name}, or name another in spec.parentRefs` };
    causes.push(cause({ code: 'GatewayMissing', object, message: `gateway ${name} does not exist`, cure }));
  }
  return causes;
}

async function backendCauses(route: Route, evidence: Evidence): Promise<readonly Cause[]> {
  const own = namespaceOf(route);
  const causes: Cause[] = [];
  const seen = new Set<string>();
  for (const backend of (route.spec?.rules ?? []).flatMap(({ backendRefs = [] }) => backendRefs)) {
    const { group = '', kind = 'Service', namespace = own, name = '' } = backend;
    if (group !== '' || kind !== 'Service' || seen.has(`${namespace}/${name}`)) continue;
    seen.add(`${namespace}/${name}`);
    const { object: service, missing } = await evidence.get(Services, { namespace, name });
    const object = nameOf(Services, { namespace, name });
    if (missing) {
      const message = `service ${name}, to which it leads, does not exist`;
      const cure = { text: `create service ${name} in namespace ${namespace}` };
      causes.push(cause({ code: 'BackendMissing', object, message, cure }));
    } else if (service !== undefined) {
      const { state, summary, causes: because } = await evidence.explain(Services, service);
      const message = `service ${name} ${summary}`;
      if (state === 'Trouble') causes.push(cause({ code: 'BackendNotReady', object, message, because }));
    }
  }
  return causes;
}

interface BackendTlsPolicy extends KubernetesObject {
  readonly spec?: { readonly targetRefs?: readonly ObjectReferenceLike[] };
  readonly status?: {
    readonly ancestors?: readonly { readonly conditions?: readonly Condition[] }[];
  };
}

/** A policy without ancestors is in use by no Gateway: no route refers to its targets. */
export async function explainBackendTlsPolicy(object: KubernetesObject, evidence: Evidence): Promise<Diagnosis> {
  const policy = object as BackendTlsPolicy;
  const namespace = namespaceOf(policy);
  const ancestors = policy.status?.ancestors ?? [];
  const causes: Cause[] = [];
  for (const { group = '', kind, name = '' } of policy.spec?.targetRefs ?? []) {
    if (group !== '' || kind !== 'Service' || !(await evidence.get(Services, { namespace, name })).missing) continue;
    const cure = { text: `create service ${name} in namespace ${namespace}, or name another in spec.targetRefs` };
    const message = `service ${name}, for which it is, does not exist`;
    causes.push(cause({ code: 'BackendMissing', object: nameOf(Services, { namespace, name }), message, cure }));
  }
  // All Gateways report the same condition, which is shown once.
  const shown = new Set<string>();
  for (const found of ancestors.flatMap(({ conditions }) =>
    conditionCauses(BackendTlsPolicies, withConditions(policy, conditions)),
  )) {
    if (shown.has(found.message)) continue;
    shown.add(found.message);
    causes.push(found);
  }
  const { length } = ancestors;
  const summary = `holds at ${length} ${length === 1 ? 'gateway' : 'gateways'}`;
  return { state: causes.length === 0 ? 'Fine' : 'Trouble', summary, causes };
}

/** An object with the conditions of one of its parts as its own. */
function withConditions(object: KubernetesObject, conditions: readonly Condition[] = []): KubernetesObject {
  return { ...object, status: { conditions } } as KubernetesObject;
}

function isSettled({ type, status }: Condition): boolean {
  return (type === 'Accepted' || type === 'Programmed') && status === 'True';
}

function notServedCause(info: ResourceInfo, object: KubernetesObject): Cause {
  return cause({
    code: 'NotServed',
    object: nameOfObject(info, object),
    message: 'no gateway controller has taken it up',
    cure: { text: 'see whether the controller of its gateway class runs' },
  });
}
