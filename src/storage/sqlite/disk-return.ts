/**
 * When a compaction's free pages and a grown log go back to the file system: at rest alone, as a busy store uses them again,
 * in small steps with pauses between them. No step begins while a write is under way, so that a write waits for one step at most.
 */
import type { CancelTimer, Clock } from '../../platform/clock.ts';

const CHECK_PERIOD_MS = 5_000;
/** No more changes than these between two looks are rest: leases and events of some hundred nodes. */
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

/** Gives back from each start until all is given back. */
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

  /** The caller calls it when pages became free. */
  start(): void {
    if (this.#cancel === undefined) this.#scheduleCheck();
  }

  /** The caller calls it after writes. */
  startWhenLogHasGrown(): void {
    if (this.#deps.revision() - this.#emptiedRevision >= CHANGES_OF_GROWN_LOG) this.start();
  }

  /** For good. */
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
      // What could not be given back stays for now: a full disk, or the store's end.
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
