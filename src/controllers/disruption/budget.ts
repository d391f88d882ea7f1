/** The status of a disruption budget. Pure. Upstream: disruption.go updatePdbStatus, countHealthyPods, buildDisruptedPodMap. */
import { formatTime, parseTime } from '../../api/time.ts';
import { scaledValue } from '../../api/int-or-string.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Condition } from '../../api/gen/meta-v1.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../api/gen/policy-v1.ts';
import type { Stored } from '../../api/object.ts';
import { DISRUPTION_ALLOWED, disruptionAllowed } from '../../component-helpers/disruption-allowed.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import { smallest } from '../../base/lists.ts';

/** An evicted pod that is not terminating after this time counts as present again. */
const DELETION_TIMEOUT_MS = 2 * 60_000;

/** Pods whose eviction the API server has granted. */
export interface Disrupted {
  /** The time of the eviction by pod name. */
  readonly pods: Readonly<Record<string, string>>;
  /** Pods that should have been deleted and were not. */
  readonly undeleted: readonly Pod[];
  /** Milliseconds until the next eviction times out. */
  readonly recheckMs?: number;
}

/** Checks the evictions that the API server recorded. */
export function disruptedPods(budget: PodDisruptionBudget, pods: readonly Stored<Pod>[], nowMs: number): Disrupted {
  const noted = budget.status?.disruptedPods ?? {};
  const kept: Record<string, string> = {};
  const undeleted: Pod[] = [];
  const waits: number[] = [];
  for (const pod of pods) {
    const name = pod.metadata.name;
    const time = Object.hasOwn(noted, name) ? noted[name] : undefined;
    if (time === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    const waitMs = parseTime(time) + DELETION_TIMEOUT_MS - nowMs;
    if (waitMs < 0) undeleted.push(pod);
    else {
      kept[name] = time;
      waits.push(waitMs);
    }
  }
  return { pods: kept, undeleted, recheckMs: waits.length === 0 ? undefined : smallest(waits) };
}

/** The number of ready pods that are neither terminating nor about to be evicted. */
export function countHealthy(pods: readonly Stored<Pod>[], disrupted: Disrupted): number {
  return pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined &&
      !Object.hasOwn(disrupted.pods, pod.metadata.name) &&
      isPodReady(pod),
  ).length;
}

/**
 * Whether the owners' scale is needed: for percentages and maxUnavailable. Otherwise the budget is a plain number of
 * pods.
 */
export function needsScale({ spec }: PodDisruptionBudget): boolean {
  return spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === 'string';
}

/** The number of pods that must be healthy, of `expected`. */
export function desiredHealthy({ spec }: PodDisruptionBudget, expected: number): number {
  if (spec?.maxUnavailable !== undefined)
    return Math.max(0, expected - scaledValue(spec.maxUnavailable, expected, true));
  if (spec?.minAvailable === undefined) return 0;
  return scaledValue(spec.minAvailable, expected, true);
}

/** The numbers in a status. */
export interface BudgetCounts {
  readonly expected: number;
  readonly desired: number;
  readonly healthy: number;
  readonly disrupted: Disrupted;
}

export function budgetStatus(
  budget: PodDisruptionBudget,
  counts: BudgetCounts,
  nowMs: number,
): PodDisruptionBudgetStatus {
  const spare = counts.healthy - counts.desired;
  const disruptionsAllowed = counts.expected <= 0 || spare <= 0 ? 0 : spare;
  return {
    currentHealthy: counts.healthy,
    desiredHealthy: counts.desired,
    expectedPods: counts.expected,
    disruptionsAllowed,
    ...(Object.keys(counts.disrupted.pods).length === 0 ? {} : { disruptedPods: { ...counts.disrupted.pods } }),
    observedGeneration: budget.metadata.generation ?? 0,
    conditions: withAllowed(budget, disruptionAllowed(disruptionsAllowed > 0), nowMs),
  };
}

/** The status after a failure: no eviction is allowed on outdated numbers. */
export function failSafeStatus(budget: PodDisruptionBudget, error: Error, nowMs: number): PodDisruptionBudgetStatus {
  const old = budget.status ?? { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, disruptionsAllowed: 0 };
  return {
    ...old,
    disruptionsAllowed: 0,
    conditions: withAllowed(budget, { status: 'False', reason: 'SyncFailed', message: error.message }, nowMs),
  };
}

function withAllowed(
  budget: PodDisruptionBudget,
  words: Pick<Condition, 'status' | 'reason' | 'message'>,
  nowMs: number,
): Condition[] {
  const type = DISRUPTION_ALLOWED;
  const old = budget.status?.conditions?.find((condition) => condition.type === type);
  const lastTransitionTime = old?.status === words.status ? old.lastTransitionTime : formatTime(nowMs);
  const next: Condition = { type, ...words, lastTransitionTime, observedGeneration: budget.metadata.generation ?? 0 };
  return [...(budget.status?.conditions ?? []).filter((condition) => condition.type !== type), next];
}
