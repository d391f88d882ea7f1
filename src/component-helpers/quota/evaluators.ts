/**
 * What objects count against resource quotas: one evaluator for each kind, used by admission (before) and by the quota
 * controller (after). Pure. Upstream: pkg/quota/v1/evaluator/core, apiserver/pkg/quota/v1/generic.
 */
import type {
  PersistentVolumeClaim,
  Pod,
  ResourceQuotaSpec,
  ScopedResourceSelectorRequirement,
  Service,
} from '../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../api/gen/resource-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { computePodQosClass } from '../../api/pod-qos.ts';
import { groupResourceOf } from '../../api/resource-info.ts';
import { parseTime } from '../../api/time.ts';
import { isPodTerminal } from '../pods.ts';
import { podTotals, type Quantities } from './resource-lists.ts';

/** Measures objects of one kind. */
export interface QuotaEvaluator {
  /** Whether it measures this name of a quota. */
  measures(name: string): boolean;
  usage(object: KubernetesObject, nowMs: number): Quantities;
  /** Whether the object is in the scope. */
  inScope(scope: ScopedResourceSelectorRequirement, object: KubernetesObject): boolean;
  /** What the object must say for these names to be measured, as upstream's text; undefined when it says all. */
  unsaid(names: readonly string[], object: KubernetesObject): string | undefined;
}

/** The evaluator of a kind. */
export function evaluatorFor(info: { readonly group: string; readonly resource: string }): QuotaEvaluator {
  if (info.group === '' && info.resource === 'pods') return pods;
  if (info.group === '' && info.resource === 'services') return services;
  if (info.group === '' && info.resource === 'persistentvolumeclaims') return claims;
  if (info.group === 'resource.k8s.io' && info.resource === 'resourceclaims') return deviceClaims;
  return counter(info);
}

/** The scopes of a quota in one form. */
export function scopesOf(spec: ResourceQuotaSpec): readonly ScopedResourceSelectorRequirement[] {
  return [
    ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ];
}

/** Whether the object is in all scopes of the quota. */
export function inScopes(evaluator: QuotaEvaluator, spec: ResourceQuotaSpec, object: KubernetesObject): boolean {
  return scopesOf(spec).every((scope) => evaluator.inScope(scope, object));
}

const LEGACY_COUNTS = ['configmaps', 'secrets', 'replicationcontrollers', 'resourcequotas'];

function counter(info: { readonly group: string; readonly resource: string }): QuotaEvaluator {
  const names = [
    `count/${groupResourceOf(info)}`,
    ...(info.group === '' && LEGACY_COUNTS.includes(info.resource) ? [info.resource] : []),
  ];
  return {
    measures: (name) => names.includes(name),
    usage: () => Object.fromEntries(names.map((name) => [name, '1'])),
    inScope: () => false,
    unsaid: () => undefined,
  };
}

const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
const isExtended = (name: string): boolean => name.includes('/') && !name.startsWith('kubernetes.io/');

const pods: QuotaEvaluator = {
  measures: (name) =>
    name === 'pods' ||
    name === 'count/pods' ||
    COMPUTE.includes(name.replace(/^(requests|limits)\./, '')) ||
    /^(requests\.)?hugepages-/.test(name) ||
    (name.startsWith('requests.') && isExtended(name.slice('requests.'.length))),
  usage: (object, nowMs) => podUsage(object as Pod, nowMs),
  inScope: (scope, object) => podInScope(scope, object as Pod),
  unsaid: (names, object) => podUnsaid(names, object as Pod),
};

function podUsage(pod: Pod, nowMs: number): Quantities {
  const usage: Record<string, string> = { 'count/pods': '1' };
  if (isPodTerminal(pod) || isStuck(pod, nowMs) || pod.spec === undefined) return usage;
  usage['pods'] = '1';
  for (const [name, quantity] of Object.entries(podTotals(pod.spec, 'requests'))) {
    if (COMPUTE.includes(name) || name.startsWith('hugepages-')) usage[name] = quantity;
    usage[`requests.${name}`] = quantity;
  }
  for (const [name, quantity] of Object.entries(podTotals(pod.spec, 'limits'))) {
    if (COMPUTE.includes(name)) usage[`limits.${name}`] = quantity;
  }
  return usage;
}

/** Past its grace period: its node does not answer, and what it used shall not be blocked for ever. */
function isStuck(pod: Pod, nowMs: number): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return false;
  return nowMs > parseTime(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

function podInScope({ scopeName, operator, values = [] }: ScopedResourceSelectorRequirement, pod: Pod): boolean {
  const spec = pod.spec;
  const terminating = spec?.activeDeadlineSeconds !== undefined;
  const bestEffort = computePodQosClass(pod) === 'BestEffort';
  switch (scopeName) {
    case 'Terminating':
      return terminating;
    case 'NotTerminating':
      return !terminating;
    case 'BestEffort':
      return bestEffort;
    case 'NotBestEffort':
      return !bestEffort;
    case 'PriorityClass':
      return classInScope(spec?.priorityClassName ?? '', operator, values);
    case 'CrossNamespacePodAffinity':
      return crossesNamespaces(pod);
    default:
      return false;
  }
}

function classInScope(name: string, operator: string, values: readonly string[]): boolean {
  switch (operator) {
    case 'In':
      return values.includes(name);
    case 'NotIn':
      return !values.includes(name);
    case 'Exists':
      return name !== '';
    case 'DoesNotExist':
      return name === '';
    default:
      return false;
  }
}

function crossesNamespaces({ spec }: Pod): boolean {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  const terms = [podAffinity, podAntiAffinity].flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((weighted) => weighted.podAffinityTerm),
  ]);
  return terms.some((term) => (term.namespaces ?? []).length > 0 || term.namespaceSelector !== undefined);
}

/** Compute resources under quota must be said by every container, or by the pod. */
function podUnsaid(names: readonly string[], { spec }: Pod): string | undefined {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const parts: string[] = [];
  for (const name of names.toSorted()) {
    const [, kind = 'requests.', resource = ''] = /^(requests\.|limits\.)?(.*)$/.exec(name) ?? [];
    if (!COMPUTE.slice(0, 2).includes(resource)) continue;
    const field = kind === 'limits.' ? 'limits' : 'requests';
    if (spec?.resources?.[field]?.[resource] !== undefined) continue;
    const silent = containers
      .filter((container) => container.resources?.[field]?.[resource] === undefined)
      .map((container) => container.name);
    if (silent.length > 0) parts.push(`${name} for: ${silent.join(',')}`);
  }
  return parts.length === 0 ? undefined : `must specify ${parts.join('; ')}`;
}

const services: QuotaEvaluator = {
  measures: (name) => ['services', 'services.nodeports', 'services.loadbalancers', 'count/services'].includes(name),
  usage(object) {
    const { type, ports = [], allocateLoadBalancerNodePorts } = (object as Service).spec ?? {};
    const balanced = type === 'LoadBalancer';
    // Ports that a balancer does without count only where somebody chose them.
    const allocates = type === 'NodePort' || (balanced && allocateLoadBalancerNodePorts !== false);
    const nodePorts = allocates
      ? ports.length
      : balanced
        ? ports.filter((port) => (port.nodePort ?? 0) !== 0).length
        : 0;
    return {
      services: '1',
      'count/services': '1',
      'services.nodeports': String(nodePorts),
      'services.loadbalancers': balanced ? '1' : '0',
    };
  },
  inScope: () => false,
  unsaid: () => undefined,
};

const CLASS_SUFFIX = '.storageclass.storage.k8s.io/';

const claims: QuotaEvaluator = {
  measures: (name) =>
    ['persistentvolumeclaims', 'count/persistentvolumeclaims', 'requests.storage'].includes(name) ||
    name.endsWith(`${CLASS_SUFFIX}requests.storage`) ||
    name.endsWith(`${CLASS_SUFFIX}persistentvolumeclaims`),
  usage(object) {
    const claim = object as PersistentVolumeClaim;
    const className =
      claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? claim.spec?.storageClassName ?? '';
    const storage = claim.spec?.resources?.requests?.['storage'];
    const usage: Record<string, string> = { persistentvolumeclaims: '1', 'count/persistentvolumeclaims': '1' };
    if (storage !== undefined) usage['requests.storage'] = storage;
    if (className === '') return usage;
    usage[`${className}${CLASS_SUFFIX}persistentvolumeclaims`] = '1';
    if (storage !== undefined) usage[`${className}${CLASS_SUFFIX}requests.storage`] = storage;
    return usage;
  },
  inScope: ({ scopeName, operator, values = [] }, object) =>
    scopeName === 'VolumeAttributesClass' &&
    classInScope((object as PersistentVolumeClaim).spec?.volumeAttributesClassName ?? '', operator, values),
  unsaid: () => undefined,
};

const DEVICES_SUFFIX = '.deviceclass.resource.k8s.io/devices';
const CLAIM_COUNT = 'count/resourceclaims.resource.k8s.io';
/** A request for all devices of a class may get so many. */
const MAX_ALLOCATED = 32;

/** Claims of devices: by class, of alternatives the most that may be taken. */
const deviceClaims: QuotaEvaluator = {
  measures: (name) => name === CLAIM_COUNT || name.endsWith(DEVICES_SUFFIX),
  usage(object) {
    const devices = new Map<string, number>();
    for (const { exactly, firstAvailable = [] } of (object as ResourceClaim).spec?.devices?.requests ?? []) {
      const most = new Map<string, number>();
      for (const { deviceClassName, allocationMode, count = 1 } of exactly === undefined ? firstAvailable : [exactly]) {
        const wanted = allocationMode === 'All' ? MAX_ALLOCATED : count;
        most.set(deviceClassName, Math.max(wanted, most.get(deviceClassName) ?? 0));
      }
      for (const [name, count] of most) devices.set(name, (devices.get(name) ?? 0) + count);
    }
    const byClass = [...devices].map(([name, count]) => [`${name}${DEVICES_SUFFIX}`, String(count)]);
    return { [CLAIM_COUNT]: '1', ...Object.fromEntries(byClass) };
  },
  inScope: () => false,
  unsaid: () => undefined,
};
