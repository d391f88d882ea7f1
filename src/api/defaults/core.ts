/** Defaults of the core kinds except pods and volumes. Upstream: apis/core/v1/defaults.go. */
import type {
  Endpoints,
  LimitRange,
  ResourceQuota,
  Namespace,
  Node,
  ReplicationController,
  Secret,
  Service,
} from '../gen/core-v1.ts';
import { setPodTemplateSpecDefaults } from './pod.ts';
import { roundResourceList } from './resource-lists.ts';

function isExternallyAccessible(service: Service): boolean {
  const type = service.spec?.type;
  return (
    type === 'NodePort' ||
    type === 'LoadBalancer' ||
    (type === 'ClusterIP' && (service.spec?.externalIPs ?? []).length > 0)
  );
}

/** The time for which a client keeps its endpoint: three hours. */
const DEFAULT_CLIENT_IP_AFFINITY_SECONDS = 10800;

/** Sets the defaults of a service. The allocator sets addresses and IP families. */
export function setServiceDefaults(service: Service): void {
  const spec = (service.spec ??= {});
  spec.sessionAffinity ||= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP' && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: DEFAULT_CLIENT_IP_AFFINITY_SECONDS } };
  }
  spec.type ||= 'ClusterIP';
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP';
    const unset = port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '';
    if (unset && port.targetPort !== port.port) port.targetPort = port.port;
  }
  if (isExternallyAccessible(service)) spec.externalTrafficPolicy ||= 'Cluster';
  if (spec.type !== 'ExternalName') spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type !== 'LoadBalancer') return;
  spec.allocateLoadBalancerNodePorts ??= true;
  for (const ingress of service.status?.loadBalancer?.ingress ?? [])
    if ((ingress.ip ?? '') !== '') ingress.ipMode ??= 'VIP';
}

export function setEndpointsDefaults(endpoints: Endpoints): void {
  for (const subset of endpoints.subsets ?? []) for (const port of subset.ports ?? []) port.protocol ||= 'TCP';
}

/** Sets the defaults of a secret and moves `stringData` into `data`. */
export function setSecretDefaults(secret: Secret): void {
  secret.type ||= 'Opaque';
  if (secret.stringData === undefined) return;
  for (const [key, text] of Object.entries(secret.stringData)) {
    (secret.data ??= {})[key] = Buffer.from(text, 'utf8').toString('base64');
  }
  delete secret.stringData;
}

export function setNamespaceDefaults(namespace: Namespace): void {
  const name = namespace.metadata.name ?? '';
  const label = 'kubernetes.io/metadata.name';
  if (name !== '' && namespace.metadata.labels?.[label] !== name) (namespace.metadata.labels ??= {})[label] = name;
  namespace.status ??= {};
  namespace.status.phase ||= 'Active';
}

/** Sets the defaults of a node: allocatable equals the capacity until the kubelet reports less. */
export function setNodeDefaults(node: Node): void {
  agreePodCidrs(node);
  if (node.status?.capacity !== undefined && node.status.allocatable === undefined) {
    node.status.allocatable = { ...node.status.capacity };
  }
  roundResourceList(node.status?.capacity);
  roundResourceList(node.status?.allocatable);
}

/** Makes `podCIDR` the first of `podCIDRs`; when they differ, `podCIDR` has precedence. Upstream: the conversion of NodeSpec. */
function agreePodCidrs({ spec }: Node): void {
  if (spec === undefined) return;
  const { podCIDR = '', podCIDRs = [] } = spec;
  if (podCIDR !== '' && podCIDR !== podCIDRs[0]) spec.podCIDRs = [podCIDR];
  else if (podCIDR === '' && podCIDRs[0] !== undefined) spec.podCIDR = podCIDRs[0];
}

/** Sets the defaults of a replication controller: selector and labels are those of its template. */
export function setReplicationControllerDefaults(controller: ReplicationController): void {
  const spec = (controller.spec ??= {});
  const labels = spec.template?.metadata?.labels;
  if (labels !== undefined) {
    if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
    if (Object.keys(controller.metadata.labels ?? {}).length === 0) controller.metadata.labels = { ...labels };
  }
  spec.replicas ??= 1;
  setPodTemplateSpecDefaults(spec.template);
}

export function setResourceQuotaDefaults({ spec, status }: ResourceQuota): void {
  for (const list of [spec?.hard, status?.hard, status?.used]) roundResourceList(list);
}

/** Sets the defaults of a limit range: default limits from maxima, default requests from default limits or else from minima. */
export function setLimitRangeDefaults(range: LimitRange): void {
  for (const item of range.spec?.limits ?? []) {
    for (const list of [item.max, item.min, item.default, item.defaultRequest, item.maxLimitRequestRatio])
      roundResourceList(list);
    if (item.type !== 'Container') continue;
    const defaults = { ...item.max, ...item.default };
    if (Object.keys(defaults).length > 0) item.default = defaults;
    const requests = { ...item.min, ...item.default, ...item.defaultRequest };
    if (Object.keys(requests).length > 0) item.defaultRequest = requests;
  }
}
