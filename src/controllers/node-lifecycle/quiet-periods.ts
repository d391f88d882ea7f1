/**
 * Lets a periodic loop skip rounds in which nothing can change. Rounds stay at multiples of the period: a disturbance
 * is handled by the round that would have been next.
 */
import { onAbort } from '../../base/abort.ts';
import { sleepUnlessAborted, type Clock } from '../../platform/clock.ts';

/** The sleep between two rounds. */
export interface QuietPeriods {
  /** Sleeps a period, or as many as it may. Never rejects. */
  rest(signal: AbortSignal): Promise<void>;
  /** Ends the sleep at the end of the current period. */
  disturb(): void;
}

/** The most periods that are skipped. */
const MOST_PERIODS = 720;

/** `quietMs`: how long nothing can change unless `disturb` is called. */
export function createQuietPeriods(clock: Clock, periodMs: number, quietMs: () => number): QuietPeriods {
  let disturb = (): void => undefined;
  const sleep = (ms: number, signal: AbortSignal): Promise<void> => sleepUnlessAborted(clock, ms, signal);
  // Without an AbortController for each sleep, which would cost more than the skipped rounds.
  const quietSleep = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = (): void => {
        cancel();
        unhook();
        disturb = () => undefined;
        resolve();
      };
      const cancel = clock.setTimer(ms, end);
      const unhook = onAbort(signal, end);
      disturb = end;
    });
  return {
    disturb: () => disturb(),
    async rest(signal) {
      const periods = Math.min(MOST_PERIODS, Math.ceil(quietMs() / periodMs));
      if (periods <= 1) return sleep(periodMs, signal);
      const startMs = clock.monotonicMs();
      await quietSleep(periods * periodMs, signal);
      const restedMs = clock.monotonicMs() - startMs;
      // A timer may fire late: a caller that has slept long enough does not wait for another period.
      if (restedMs >= periods * periodMs || signal.aborted) return;
      const overMs = restedMs % periodMs;
      if (overMs > 0) await sleep(periodMs - overMs, signal);
    },
  };
}
