/** Remembers since when thresholds are met and until when their pressures are told. Upstream: thresholdsFirstObservedAt, nodeConditionsObservedSince. */
import type { Clock } from '../../platform/clock.ts';
import { SIGNALS, type PressureCondition, type Threshold } from './thresholds.ts';

/** The memory. */
export interface Pressures {
  /** Takes what is met now; returns what has been met for its grace period, and whether a pressure came or went. */
  note(met: readonly Threshold[]): { readonly due: readonly Threshold[]; readonly changed: boolean };
  has(condition: PressureCondition): boolean;
  /** Sorted. */
  conditions(): readonly PressureCondition[];
}

/** Makes an empty memory. */
export function createPressures(clock: Clock, transitionPeriodMs: number): Pressures {
  let firstMet = new Map<Threshold, number>();
  const lastSeen = new Map<PressureCondition, number>();
  let told: readonly PressureCondition[] = [];
  return {
    note(met) {
      const nowMs = clock.monotonicMs();
      firstMet = new Map(met.map((threshold) => [threshold, firstMet.get(threshold) ?? nowMs]));
      for (const { signal } of met) lastSeen.set(SIGNALS[signal].condition, nowMs);
      const before = told.join();
      told = [...lastSeen]
        .filter(([, seenMs]) => seenMs === nowMs || nowMs - seenMs < transitionPeriodMs)
        .map(([condition]) => condition)
        .sort();
      const due = met.filter((threshold) => nowMs - (firstMet.get(threshold) ?? nowMs) >= threshold.gracePeriodMs);
      return { due, changed: told.join() !== before };
    },
    has: (condition) => told.includes(condition),
    conditions: () => told,
  };
}
