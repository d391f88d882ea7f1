/**
 * From usage to a number of replicas. Pure. Upstream: podautoscaler replica_calculator.go. The rule behind its cases: what
 * is not known must not make the target move further than what is known does, and never in the other direction.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import type { PodMetric, PodMetrics } from './metrics-client.ts';
import { groupPods, podRequestsOf, withoutPods, type PodGroups, type ReadinessDelays } from './pod-groups.ts';

/** How far usage may be from the target without a change, in each direction: 0.1 is ten per cent. */
export interface Tolerances {
  readonly scaleUp: number;
  readonly scaleDown: number;
}

/** What a calculation knows of the target. */
export interface TargetState {
  readonly currentReplicas: number;
  readonly pods: readonly Stored<Pod>[];
  readonly nowMs: number;
  readonly tolerances: Tolerances;
  readonly delays: ReadinessDelays;
}

/** A proposal, and the usage it came from. */
export interface Proposal {
  readonly replicas: number;
  /** Thousandths per pod. */
  readonly averageMilliValue: number;
  /** Per cent of the requests, where the target is one. */
  readonly utilization?: number;
}

const NO_PODS = 'no pods returned by selector while calculating replica count';

/** A target in per cent of what pods request. */
export function utilizationReplicas(
  state: TargetState,
  metrics: PodMetrics,
  target: { readonly resource: string; readonly container?: string | undefined; readonly utilization: number },
): Proposal {
  const { groups, counted } = sortPods(state, metrics, target.resource);
  const requests = podRequestsOf(state.pods, target.resource, target.container);
  const usage = utilizationOf(counted, requests, target.utilization);
  const fallback = Math.max(100, target.utilization);
  const replicas = replicasFor(state, groups, {
    counted,
    ratio: usage.ratio,
    ratioOf: (all) => utilizationOf(all, requests, target.utilization).ratio,
    assumed: (pod) => ((requests.get(pod) ?? 0) * fallback) / 100,
  });
  return { replicas, averageMilliValue: usage.averageMilliValue, utilization: usage.utilization };
}

/** A target per pod in thousandths. `resource` is '' for custom metrics. */
export function averageValueReplicas(
  state: TargetState,
  metrics: PodMetrics,
  target: { readonly resource: string; readonly milliValue: number },
): Proposal {
  const { groups, counted } = sortPods(state, metrics, target.resource);
  const average = (all: PodMetrics): number => sum(all) / all.size;
  const ratioOf = (all: PodMetrics): number => Math.floor(average(all)) / target.milliValue;
  const replicas = replicasFor(state, groups, {
    counted,
    ratio: ratioOf(counted),
    ratioOf,
    assumed: () => target.milliValue,
  });
  return { replicas, averageMilliValue: Math.floor(average(counted)) };
}

/** One value for the whole target, compared with the target's value: pods share the work evenly. */
export function valueReplicas(state: TargetState, milliValue: number, targetMilliValue: number): number {
  const ratio = milliValue / targetMilliValue;
  if (state.currentReplicas === 0) return Math.ceil(ratio);
  if (isWithin(state.tolerances, ratio)) return state.currentReplicas;
  // No pod seen yet does not mean that none is desired.
  if (state.pods.length === 0) throw new Error(NO_PODS);
  const ready = state.pods.filter((pod) => pod.status?.phase === 'Running' && isPodReady(pod)).length;
  return Math.ceil(ratio * ready);
}

/** One value for the whole target, against a target for each replica. */
export function perReplicaValueReplicas(
  state: Pick<TargetState, 'tolerances'> & { readonly statusReplicas: number },
  milliValue: number,
  targetMilliValue: number,
): Proposal {
  const { statusReplicas, tolerances } = state;
  const ratio = milliValue / (targetMilliValue * statusReplicas);
  const replicas =
    statusReplicas > 0 && isWithin(tolerances, ratio) ? statusReplicas : Math.ceil(milliValue / targetMilliValue);
  return { replicas, averageMilliValue: statusReplicas === 0 ? 0 : Math.ceil(milliValue / statusReplicas) };
}

function sortPods(
  state: TargetState,
  metrics: PodMetrics,
  resource: string,
): { groups: PodGroups; counted: Map<string, PodMetric> } {
  if (state.pods.length === 0) throw new Error(NO_PODS);
  const groups = groupPods(state.pods, metrics, { ...state.delays, resource, nowMs: state.nowMs });
  const known = new Set(state.pods.map((pod) => pod.metadata.name));
  const counted = withoutPods(metrics, groups.ignored, groups.unready);
  for (const name of counted.keys()) if (!known.has(name)) counted.delete(name);
  if (counted.size === 0) throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  return { groups, counted };
}

interface Usage {
  readonly counted: Map<string, PodMetric>;
  readonly ratio: number;
  ratioOf(metrics: PodMetrics): number;
  /** What a pod without a metric is taken to use when that keeps replicas. */
  assumed(pod: string): number;
}

function replicasFor(state: TargetState, groups: PodGroups, usage: Usage): number {
  const { currentReplicas, tolerances } = state;
  const growing = usage.ratio > 1;
  const countUnready = groups.unready.size > 0 && growing;
  if (!countUnready && groups.missing.size === 0) {
    if (isWithin(tolerances, usage.ratio)) return currentReplicas;
    return Math.ceil(usage.ratio * groups.readyCount);
  }
  const all = new Map(usage.counted);
  const assume = (pod: string, milliValue: number): void => {
    all.set(pod, { milliValue, timestampMs: state.nowMs, windowMs: 0 });
  };
  if (usage.ratio < 1) for (const pod of groups.missing) assume(pod, usage.assumed(pod));
  if (growing) for (const pod of groups.missing) assume(pod, 0);
  if (countUnready) for (const pod of groups.unready) assume(pod, 0);
  const ratio = usage.ratioOf(all);
  const turned = (usage.ratio < 1 && ratio > 1) || (usage.ratio > 1 && ratio < 1);
  if (isWithin(tolerances, ratio) || turned) return currentReplicas;
  const replicas = Math.ceil(ratio * all.size);
  const backwards = (ratio < 1 && replicas > currentReplicas) || (ratio > 1 && replicas < currentReplicas);
  return backwards ? currentReplicas : replicas;
}

function isWithin({ scaleUp, scaleDown }: Tolerances, ratio: number): boolean {
  return 1 - scaleDown <= ratio && ratio <= 1 + scaleUp;
}

function sum(metrics: PodMetrics): number {
  let total = 0;
  for (const { milliValue } of metrics.values()) total += milliValue;
  return total;
}

function utilizationOf(
  metrics: PodMetrics,
  requests: ReadonlyMap<string, number>,
  target: number,
): { ratio: number; utilization: number; averageMilliValue: number } {
  let used = 0;
  let requested = 0;
  let count = 0;
  for (const [pod, { milliValue }] of metrics) {
    const request = requests.get(pod);
    if (request === undefined) continue;
    used += milliValue;
    requested += request;
    count++;
  }
  if (requested === 0) throw new Error('no metrics returned matched known pods');
  const utilization = Math.floor((used * 100) / requested);
  return { ratio: utilization / target, utilization, averageMilliValue: Math.floor(used / count) };
}
