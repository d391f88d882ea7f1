/**
 * Computes replicas from usage. Pure. Upstream: podautoscaler replica_calculator.go. The rule behind its cases:
 * missing metrics must not make the scaling larger than known metrics do, and never reverse its direction.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import type { PodMetric, PodMetrics } from './metrics-client.ts';
import { groupPods, podRequestsOf, withoutPods, type PodGroups, type ReadinessDelays } from './pod-groups.ts';

/** The relative difference between usage and target without a change, in each direction: 0.1 is ten per cent. */
export interface Tolerances {
  readonly scaleUp: number;
  readonly scaleDown: number;
}

/** The target's state for a calculation. */
export interface TargetState {
  readonly currentReplicas: number;
  readonly pods: readonly Stored<Pod>[];
  readonly nowMs: number;
  readonly tolerances: Tolerances;
  readonly delays: ReadinessDelays;
}

/** A number of replicas, and the usage it was computed from. */
export interface Proposal {
  readonly replicas: number;
  /** In thousandths per pod. */
  readonly averageMilliValue: number;
  /** In per cent of the requests, for such targets. */
  readonly utilization?: number;
}

const NO_PODS = 'no pods returned by selector while calculating replica count';

/** For a target in per cent of the pods' requests. */
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

/** For a target per pod in thousandths. `resource` is '' for custom metrics. */
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

/** For one value of the whole target: pods are assumed to share the load evenly. */
export function valueReplicas(state: TargetState, milliValue: number, targetMilliValue: number): number {
  const ratio = milliValue / targetMilliValue;
  if (state.currentReplicas === 0) return Math.ceil(ratio);
  if (isWithin(state.tolerances, ratio)) return state.currentReplicas;
  // No observed pod does not mean that none is desired.
  if (state.pods.length === 0) throw new Error(NO_PODS);
  const ready = state.pods.filter((pod) => pod.status?.phase === 'Running' && isPodReady(pod)).length;
  return Math.ceil(ratio * ready);
}

/** For one value of the whole target, divided by the replicas. */
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
  const podNames = new Set(state.pods.map((pod) => pod.metadata.name));
  const counted = withoutPods(metrics, groups.ignored, groups.unready);
  for (const name of counted.keys()) if (!podNames.has(name)) counted.delete(name);
  if (counted.size === 0) throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  return { groups, counted };
}

interface Usage {
  readonly counted: Map<string, PodMetric>;
  readonly ratio: number;
  ratioOf(metrics: PodMetrics): number;
  /** The usage assumed for a pod without a metric, with which the number of replicas does not change. */
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
