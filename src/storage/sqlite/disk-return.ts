/**
 * Returns free pages to the file system after a compaction, and truncates a grown log. It works only while the store is idle,
 * since a busy store uses the pages again, in small steps with pauses. No step begins during a write, so a write waits for at
 * most one step.
 */
import type { CancelTimer, Clock } from '../../platform/clock.ts';

const CHECK_PERIOD_MS = 5_000;
/** The store is idle with at most this many changes between two checks: leases and events of some hundred nodes. */
const REST_CHANGES = 250;
const PAUSE_MS = 20;
/** The log grows by some 10 KB a change, up to 32 MB. */
const CHANGES_OF_GROWN_LOG = 500;

export interface DiskReturnDeps {
  readonly clock: Clock;
  revision(): number;
  /** A write or a copy is under way. */
  isBusy(): boolean;
  /** One step. Resolves to whether it was the last. */
  step(): Promise<boolean>;
}

/** Returns space from each `start` until everything is returned. */
export class DiskReturn {
  readonly #deps: DiskReturnDeps;
  #cancel: CancelTimer | undefined;
  #seenRevision = 0;
  /** The revision of the last step that emptied the log. */
  #emptiedRevision: number;
  #isStopped = false;

  constructor(deps: DiskReturnDeps) {
    this.#deps = deps;
    this.#emptiedRevision = deps.revision();
  }

  /** Call when pages became free. */
  start(): void {
    if (this.#cancel === undefined) this.#scheduleCheck();
  }

  /** Call after writes. */
  startWhenLogHasGrown(): void {
    if (this.#deps.revision() - this.#emptiedRevision >= CHANGES_OF_GROWN_LOG) this.start();
  }

  /** Stops permanently. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #scheduleCheck(): void {
    this.#seenRevision = this.#deps.revision();
    this.#after(CHECK_PERIOD_MS, () => {
      if (this.#isAtRest()) this.#step();
      else this.#scheduleCheck();
    });
  }

  #isAtRest(): boolean {
    return this.#deps.revision() - this.#seenRevision <= REST_CHANGES;
  }

  #step(): void {
    if (this.#deps.isBusy()) return this.#after(PAUSE_MS, () => this.#step());
    this.#deps.step().then(
      (isDone) => {
        if (isDone) this.#end();
        else if (this.#isAtRest()) this.#after(PAUSE_MS, () => this.#step());
        else this.#scheduleCheck();
      },
      // Pages that could not be released stay for now: a full disk, or the store's end.
      () => this.#end(),
    );
  }

  #end(): void {
    this.#cancel = undefined;
    this.#emptiedRevision = this.#deps.revision();
  }

  #after(delayMs: number, callback: () => void): void {
    if (!this.#isStopped) this.#cancel = this.#deps.clock.setTimer(delayMs, callback);
  }
}
