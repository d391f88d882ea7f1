/**
 * When housekeeping (handlePodCleanups) runs: two seconds after a change, and at least every 30 seconds. It runs beside the sync
 * loop and never overlaps itself. Upstream: housekeepingCh in syncLoopIteration, every two seconds.
 */
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';

/** Delay after a change. */
const HOUSEKEEPING_PERIOD_MS = 2_000;
/** Period while nothing changes. */
const HOUSEKEEPING_IDLE_PERIOD_MS = 30_000;
const HOUSEKEEPING_WARNING_MS = 1_000;

export interface HousekeepingDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly allSourcesReady: () => boolean;
  readonly handlePodCleanups: () => Promise<void>;
  /** Called when housekeeping is due; the loop then calls `runIfDue`. */
  readonly onDue: () => void;
}

export class Housekeeping {
  readonly #deps: HousekeepingDeps;
  #due = false;
  #stopped = false;
  #timer: { readonly dueMs: number; readonly cancel: CancelTimer } | undefined;
  #running: Promise<void> | undefined;

  constructor(deps: HousekeepingDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.runSoon();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Resolves when no housekeeping runs. */
  async finished(): Promise<void> {
    await this.#running;
  }

  /** Makes housekeeping due at this iteration. */
  runNow(): void {
    this.#due = true;
  }

  /** Makes housekeeping due in two seconds, unless it is due earlier. */
  runSoon(): void {
    this.#setTimer(HOUSEKEEPING_PERIOD_MS);
  }

  runIfDue(): void {
    if (!this.#due) return;
    this.#due = false;
    this.#setTimer(HOUSEKEEPING_IDLE_PERIOD_MS);
    if (!this.#deps.allSourcesReady()) {
      // Pods of a source that has sent nothing yet would look like orphans.
      this.#deps.log.debug('SyncLoop (housekeeping, skipped): sources are not ready yet');
      return;
    }
    if (this.#running === undefined) this.#run();
    else this.runSoon();
  }

  #run(): void {
    const { clock, log } = this.#deps;
    const startedMs = clock.monotonicMs();
    this.#running = this.#deps
      .handlePodCleanups()
      .catch((error: unknown) => {
        this.runSoon();
        log.error('Failed cleaning pods', { err: error });
      })
      .finally(() => {
        this.#running = undefined;
        const tookMs = clock.monotonicMs() - startedMs;
        if (tookMs > HOUSEKEEPING_WARNING_MS)
          log.warn('Housekeeping took longer than expected', { expected: '1s', actual: `${tookMs}ms` });
      });
  }

  #setTimer(delayMs: number): void {
    const { clock } = this.#deps;
    const dueMs = clock.monotonicMs() + delayMs;
    if (this.#stopped || (this.#timer !== undefined && this.#timer.dueMs <= dueMs)) return;
    this.#timer?.cancel();
    const cancel = clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      this.#due = true;
      this.#deps.onDue();
    });
    this.#timer = { dueMs, cancel };
  }
}
