/** Timers that report the durations of extension points and plugins to the scheduler's metrics. */
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import type { CycleState } from './framework/plugin.ts';
import { measurePlugins } from './framework/plugin-timer.ts';
import type { PointTimer } from './framework/point-timer.ts';
import type { SchedulerMetrics } from './scheduler-metrics.ts';

/** The percentage of cycles whose plugins are measured one by one, as upstream. */
const MEASURED_PERCENT = 10;

export interface SchedulerTimers {
  /** Timers of the profile's extension points. */
  forProfile(profile: string): PointTimer;
  /** The state of a new cycle; in some cycles it has a timer for single plugins. */
  newState(): CycleState;
}

export function createSchedulerTimers(clock: Clock, random: Random, metrics: SchedulerMetrics): SchedulerTimers {
  const started = (): number => clock.monotonicMs();
  const secondsSince = (startedMs: number): number => (clock.monotonicMs() - startedMs) / 1000;
  return {
    forProfile: (profile) => ({
      started,
      ended: (point, startedMs, status) =>
        metrics.pointSeconds(point, { profile, status, seconds: secondsSince(startedMs) }),
    }),
    newState() {
      const state: CycleState = new Map();
      if (random.int(100) < MEASURED_PERCENT)
        measurePlugins(state, {
          started,
          ended: ({ startedMs, plugin, point, status }) =>
            metrics.pluginSeconds({ plugin, point, status, seconds: secondsSince(startedMs) }),
        });
      return state;
    },
  };
}
