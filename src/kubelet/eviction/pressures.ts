/**
 * When thresholds were first met, and until when their pressures are reported. Upstream: thresholdsFirstObservedAt
 * and nodeConditionsLastObservedAt of the eviction manager.
 */
import type { Clock } from '../../platform/clock.ts';
import { SIGNALS, type PressureCondition, type Threshold } from './thresholds.ts';

export interface Pressures {
  /**
   * `due`: thresholds that have been met for their grace period; `changed`: the reported pressures differ from
   * before.
   */
  update(met: readonly Threshold[]): { readonly due: readonly Threshold[]; readonly changed: boolean };
  has(condition: PressureCondition): boolean;
  /** Sorted. */
  conditions(): readonly PressureCondition[];
}

export function createPressures(clock: Clock, transitionPeriodMs: number): Pressures {
  let firstMetMs = new Map<Threshold, number>();
  const lastMetMs = new Map<PressureCondition, number>();
  let reported: readonly PressureCondition[] = [];
  return {
    update(met) {
      const nowMs = clock.monotonicMs();
      firstMetMs = new Map(met.map((threshold) => [threshold, firstMetMs.get(threshold) ?? nowMs]));
      for (const { signal } of met) lastMetMs.set(SIGNALS[signal].condition, nowMs);
      const before = reported.join();
      reported = [...lastMetMs]
        .filter(([, lastMs]) => lastMs === nowMs || nowMs - lastMs < transitionPeriodMs)
        .map(([condition]) => condition)
        .sort();
      const due = met.filter((threshold) => nowMs - (firstMetMs.get(threshold) ?? nowMs) >= threshold.gracePeriodMs);
      return { due, changed: reported.join() !== before };
    },
    has: (condition) => reported.includes(condition),
    conditions: () => reported,
  };
}
