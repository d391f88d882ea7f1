/** Groups pods by whether their metrics count. Pure. Upstream: podautoscaler replica_calculator.go groupPods, calculatePodRequests. */
import { sidecarsOf } from '../../api/pod-containers.ts';
import { quantityMilliValue } from '../../api/quantity.ts';
import { parseTime } from '../../api/time.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { podCondition } from '../../component-helpers/pods.ts';
import type { PodMetric, PodMetrics } from './metrics-client.ts';

/** The pods of a target, grouped by whether their metrics count. */
export interface PodGroups {
  readonly readyCount: number;
  /** Starting or not ready: their usage is not representative yet. */
  readonly unready: ReadonlySet<string>;
  /** Without a metric. */
  readonly missing: ReadonlySet<string>;
  /** Failed or being deleted. */
  readonly ignored: ReadonlySet<string>;
}

/** For how long after its start a pod's CPU usage is ignored, and for how long an unready pod counts as starting. */
export interface ReadinessDelays {
  readonly cpuInitializationMs: number;
  readonly initialReadinessMs: number;
}

/** Groups the pods. CPU differs from other metrics, since pods use much of it while they start. */
export function groupPods(
  pods: readonly Stored<Pod>[],
  metrics: PodMetrics,
  when: ReadinessDelays & { readonly resource: string; readonly nowMs: number },
): PodGroups {
  const unready = new Set<string>();
  const missing = new Set<string>();
  const ignored = new Set<string>();
  let readyCount = 0;
  for (const pod of pods) {
    const name = pod.metadata.name;
    const metric = metrics.get(name);
    if (pod.metadata.deletionTimestamp !== undefined || pod.status?.phase === 'Failed') ignored.add(name);
    else if (pod.status?.phase === 'Pending') unready.add(name);
    else if (metric === undefined) missing.add(name);
    else if (when.resource === 'cpu' && isStarting(pod, metric, when)) unready.add(name);
    else readyCount++;
  }
  return { readyCount, unready, missing, ignored };
}

function isStarting(pod: Pod, metric: PodMetric, when: ReadinessDelays & { readonly nowMs: number }): boolean {
  const condition = podCondition(pod, 'Ready');
  const startedMs = parseTime(pod.status?.startTime);
  if (condition === undefined || Number.isNaN(startedMs)) return true;
  const changedMs = parseTime(condition.lastTransitionTime);
  // Recently started: the sample counts only if it was taken after the pod became ready.
  if (startedMs + when.cpuInitializationMs > when.nowMs)
    return condition.status === 'False' || metric.timestampMs < changedMs + metric.windowMs;
  // The pod has probably never been ready.
  return condition.status === 'False' && startedMs + when.initialReadinessMs > changedMs;
}

/** The requests of pods in thousandths, by pod name. Throws with upstream's text where a container has no request. */
export function podRequestsOf(
  pods: readonly Stored<Pod>[],
  resource: string,
  container: string | undefined,
): ReadonlyMap<string, number> {
  return new Map(pods.map((pod) => [pod.metadata.name, requestOf(pod, resource, container)]));
}

function requestOf(pod: Stored<Pod>, resource: string, only: string | undefined): number {
  const podLevel = only === undefined ? pod.spec?.resources?.requests?.[resource] : undefined;
  if (podLevel !== undefined) return quantityMilliValue(podLevel);
  const sidecars = sidecarsOf(pod.spec);
  const counted = [...(pod.spec?.containers ?? []), ...sidecars].filter(
    ({ name }) => only === undefined || name === only,
  );
  if (only !== undefined && counted.length === 0)
    throw new Error(`Container ${only} not found in Pod ${pod.metadata.name}`);
  let sum = 0;
  for (const { name, resources } of counted) {
    const request = resources?.requests?.[resource];
    if (request === undefined)
      throw new Error(`missing request for ${resource} in container ${name} of Pod ${pod.metadata.name}`);
    sum += quantityMilliValue(request);
  }
  return sum;
}

/** The metrics without those of some pods. */
export function withoutPods(metrics: PodMetrics, ...sets: readonly ReadonlySet<string>[]): Map<string, PodMetric> {
  return new Map([...metrics].filter(([name]) => !sets.some((set) => set.has(name))));
}
