/** The parts of the stop of a server or node: one that ends late is named in the log, one that does not end holds up nothing. */
import type { CancelTimer } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';

const SLOW_MS = 5_000;
/** The caller of a stop waits a minute for it. */
const ALL_PARTS_MS = 30_000;
/** Also when the parts before it took all the time. */
const LEAST_MS = 1_000;

/** Waits for the parts of one stop, which begins with the first. */
export class StopParts {
  readonly #deps: Pick<Platform, 'clock' | 'log'>;
  #deadlineMs: number | undefined;

  constructor(deps: Pick<Platform, 'clock' | 'log'>) {
    this.#deps = deps;
  }

  /** Resolves when the part has ended, or is given up, after `mostMs` at the latest. Rejects as it does. */
  async wait(part: string, ending: Promise<unknown> | undefined, mostMs = ALL_PARTS_MS): Promise<void> {
    const { clock, log } = this.#deps;
    this.#deadlineMs ??= clock.monotonicMs() + ALL_PARTS_MS;
    const limitMs = Math.max(LEAST_MS, Math.min(mostMs, this.#deadlineMs - clock.monotonicMs()));
    const left = Promise.withResolvers<void>();
    const timers: CancelTimer[] = [
      clock.setTimer(SLOW_MS, () => log.warn('the stop waits for a part that does not end', { part })),
      clock.setTimer(limitMs, () => {
        log.error('the stop goes on without a part that does not end', { part });
        left.resolve();
      }),
    ];
    try {
      await Promise.race([ending, left.promise]);
    } finally {
      for (const cancel of timers) cancel();
    }
  }
}
