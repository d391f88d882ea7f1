/** The usage of pods against quotas. Upstream: pkg/quota/v1/evaluator/core/pods.go. */
import { secondsToMs } from '../../api/int64.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { computePodQosClass } from '../../api/pod-qos.ts';
import { parseTime } from '../../api/time.ts';
import { isNativeResource } from '../../api/validation/resource-names.ts';
import { firstByName } from '../../base/first-by.ts';
import { isPodTerminal } from '../pods.ts';
import { DEVICE_CLASS_RESOURCES } from '../resource-claims.ts';
import { isResizeInfeasible } from '../pod-resources.ts';
import type { QuotaEvaluator } from './evaluator.ts';
import { maxLists, podTotals, type Quantities } from './resource-lists.ts';

const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];

/**
 * Whether quotas count the resource by this name behind `requests.`: an extended resource, or the implicit one of a device
 * class. Upstream: isExtendedResourceNameForQuota.
 */
export function isExtendedResourceForQuota(name: string): boolean {
  return name.startsWith(DEVICE_CLASS_RESOURCES) || !isNativeResource(name);
}

/** Measures pods. */
export const podEvaluator: QuotaEvaluator = {
  measures: (name) =>
    name === 'pods' ||
    name === 'count/pods' ||
    COMPUTE.includes(name.replace(/^(requests|limits)\./, '')) ||
    /^(requests\.)?hugepages-/.test(name) ||
    (name.startsWith('requests.') && isExtendedResourceForQuota(name.slice('requests.'.length))),
  usage: (object, nowMs) => podUsage(object as Pod, nowMs),
  scope: (name, object) => podScope(name, object as Pod),
  constraints: (names, object) => podConstraints(names, object as Pod),
};

/** A pod's usage of quotas. */
export function podUsage(pod: Pod, nowMs: number): Quantities {
  const usage: Record<string, string> = { 'count/pods': '1' };
  if (isPodTerminal(pod) || isStuck(pod, nowMs) || pod.spec === undefined) return usage;
  usage['pods'] = '1';
  for (const [name, quantity] of Object.entries(podTotals(pod.spec, 'requests', resourcesInUse(pod, 'requests')))) {
    if (COMPUTE.includes(name) || name.startsWith('hugepages-')) usage[name] = quantity;
    usage[`requests.${name}`] = quantity;
  }
  for (const [name, quantity] of Object.entries(podTotals(pod.spec, 'limits', resourcesInUse(pod, 'limits')))) {
    if (COMPUTE.includes(name)) usage[`limits.${name}`] = quantity;
  }
  return usage;
}

/** A container's desired resources or, during a resize, its actual ones, whichever are more. Upstream: UseStatusResources. */
function resourcesInUse(pod: Pod, kind: 'requests' | 'limits'): (container: Container) => Quantities {
  const { status } = pod;
  const statuses = firstByName([...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]);
  const never = isResizeInfeasible(pod);
  return ({ name, resources }) => {
    const wanted = resources?.[kind] ?? {};
    const containerStatus = statuses.get(name);
    if (containerStatus?.resources === undefined) return wanted;
    const has = containerStatus.resources[kind] ?? {};
    const most = kind === 'requests' ? maxLists(has, containerStatus.allocatedResources ?? {}) : has;
    return never ? most : maxLists(wanted, most);
  };
}

/** Past its grace period: its node does not answer, and its usage must not stay blocked. */
function isStuck(pod: Pod, nowMs: number): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return false;
  return nowMs > parseTime(deletionTimestamp) + secondsToMs(deletionGracePeriodSeconds);
}

function podScope(name: string, pod: Pod): boolean | string {
  const { activeDeadlineSeconds, priorityClassName = '' } = pod.spec ?? {};
  switch (name) {
    case 'Terminating':
      return activeDeadlineSeconds !== undefined;
    case 'NotTerminating':
      return activeDeadlineSeconds === undefined;
    case 'BestEffort':
      return computePodQosClass(pod) === 'BestEffort';
    case 'NotBestEffort':
      return computePodQosClass(pod) !== 'BestEffort';
    case 'PriorityClass':
      return priorityClassName;
    case 'CrossNamespacePodAffinity':
      return crossesNamespaces(pod);
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

/**
 * Every container must set compute resources under quota, unless the pod sets resources as a whole. Upstream:
 * podEvaluator.Constraints.
 */
function podConstraints(names: readonly string[], { spec }: Pod): string | undefined {
  const whole = { ...spec?.resources?.requests, ...spec?.resources?.limits };
  if (Object.keys(whole).some((name) => COMPUTE.slice(0, 2).includes(name) || name.startsWith('hugepages-')))
    return undefined;
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const parts: string[] = [];
  for (const name of names.toSorted()) {
    const [, kind = 'requests.', resource = ''] = /^(requests\.|limits\.)?(.*)$/.exec(name) ?? [];
    if (!COMPUTE.slice(0, 2).includes(resource)) continue;
    const field = kind === 'limits.' ? 'limits' : 'requests';
    const lacking = containers
      .filter((container) => container.resources?.[field]?.[resource] === undefined)
      .map((container) => container.name);
    if (lacking.length > 0) parts.push(`${name} for: ${lacking.toSorted().join(',')}`);
  }
  return parts.length === 0 ? undefined : `must specify ${parts.join('; ')}`;
}
