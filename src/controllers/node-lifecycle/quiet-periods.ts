/**
 * Lets a loop of rounds sleep through those in which nothing can have come to pass. Rounds stay whole periods apart: what
 * disturbs the sleep is seen by the round that would have been next.
 */
import { onAbort } from '../../base/abort.ts';
import { sleepUnlessAborted, type Clock } from '../../platform/clock.ts';

/** The sleep between two rounds. */
export interface QuietPeriods {
  /** Sleeps a period, or as many as it may. Never rejects. */
  rest(signal: AbortSignal): Promise<void>;
  /** Something came to pass: the next round is at the end of this period. */
  disturb(): void;
}

/** The most periods without a round, when nothing changes. */
const MOST_PERIODS = 720;

/** Makes it. `quietMs`: how long, from now on, nothing can come to pass unless `disturb` is called. */
export function createQuietPeriods(clock: Clock, periodMs: number, quietMs: () => number): QuietPeriods {
  let disturb = (): void => undefined;
  const sleep = (ms: number, signal: AbortSignal): Promise<void> => sleepUnlessAborted(clock, ms, signal);
  // Without an AbortController of its own: it would cost more than the rounds that are slept through.
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
      // Timers may be late: who has slept long enough is not put off to the end of another period.
      if (restedMs >= periods * periodMs || signal.aborted) return;
      const overMs = restedMs % periodMs;
      if (overMs > 0) await sleep(periodMs - overMs, signal);
    },
  };
}
