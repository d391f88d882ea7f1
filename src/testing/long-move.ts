/** Reports the progress of calls that advance virtual time for long, every ten seconds of real time. */
import type { Clock } from '../platform/clock.ts';
import { formatSpan } from './duration.ts';

const PERIOD_MS = 10_000;

export interface LongMoveDeps {
  readonly clock: Clock;
  /** Calls `callback` periodically in real time until the returned function is called. */
  readonly everyRealMs: (periodMs: number, callback: () => void) => () => void;
  readonly warn: (message: string) => void;
}

/** Runs a call that advances virtual time, by `totalMs` when that is known. */
export async function reportProgress<T>(
  { clock, everyRealMs, warn }: LongMoveDeps,
  { call, totalMs }: { readonly call: string; readonly totalMs?: number },
  work: () => Promise<T>,
): Promise<T> {
  const startMs = clock.monotonicMs();
  let periods = 0;
  const end = everyRealMs(PERIOD_MS, () => {
    periods++;
    const passed = formatSpan(clock.monotonicMs() - startMs);
    const goal = totalMs === undefined ? '' : ` of ${formatSpan(totalMs)}`;
    warn(`${call}: ${passed}${goal} of virtual time in ${periods * (PERIOD_MS / 1000)} s of real time`);
  });
  try {
    return await work();
  } finally {
    end();
  }
}
