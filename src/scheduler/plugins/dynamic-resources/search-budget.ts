/**
 * Limits the searches for devices of one scheduling cycle, which blocks the event loop: nodes, requests, selectors
 * and devices multiply. Selectors that take too long end the attempt with an error; the result of each is kept, so
 * the pod's next attempt continues from there. After many steps the remaining nodes get few. The search on a node also
 * ends after `filterTimeout`.
 */
import type { Clock } from '../../../platform/clock.ts';

/** Work of evaluating expressions: some 30 ms, and the expression that exceeds it. */
const MAX_WORK = 400_000;
const MAX_STEPS = 100_000;
/** The most steps of the search on one node. */
const MAX_STEPS_OF_NODE = 20_000;
const MIN_STEPS_OF_NODE = 200;
/** The clock is read once in this many steps, since reading it costs more than a step. */
const STEPS_PER_CLOCK_READ = 32;

/** The cycle has reached its limit of evaluated expressions. */
export class SearchUnfinished extends Error {
  constructor() {
    super('the search for devices takes long: it goes on with the next attempt');
    this.name = 'SearchUnfinished';
  }
}

/** The search on one node took longer than `filterTimeout`. Upstream: context.DeadlineExceeded of Allocate. */
export class SearchTimedOut extends Error {
  constructor() {
    super('timed out trying to allocate devices');
    this.name = 'SearchTimedOut';
  }
}

/** `timeoutMs` 0: no timeout. */
export interface SearchLimits {
  readonly work?: number;
  readonly clock?: Pick<Clock, 'monotonicMs'>;
  readonly timeoutMs?: number;
}

export class SearchBudget {
  readonly #clock: SearchLimits['clock'];
  readonly #timeoutMs: number;
  #work: number;
  #steps = MAX_STEPS;
  #ofNode = MAX_STEPS_OF_NODE;
  #endMs = Infinity;
  #uses = 0;

  constructor({ work = MAX_WORK, clock, timeoutMs = 0 }: SearchLimits = {}) {
    this.#work = work;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** Starts the search on the next node. */
  nextNode(): void {
    if (this.#clock !== undefined && this.#timeoutMs > 0) this.#endMs = this.#clock.monotonicMs() + this.#timeoutMs;
    this.#ofNode = Math.max(MIN_STEPS_OF_NODE, Math.min(MAX_STEPS_OF_NODE, this.#steps));
  }

  /** Counts steps; false when the search on this node must end. Throws {@link SearchTimedOut}. */
  maySpend(steps: number): boolean {
    this.#checkTime();
    this.#steps -= steps;
    this.#ofNode -= steps;
    return this.#ofNode >= 0;
  }

  /**
   * Counts work before or after it is done: what exceeds the budget is the last. Throws {@link SearchUnfinished} and
   * {@link SearchTimedOut}.
   */
  readonly spend = (work: number): void => {
    this.#checkTime();
    if (this.#work < 0) throw new SearchUnfinished();
    this.#work -= work;
  };

  #checkTime(): void {
    if (this.#uses++ % STEPS_PER_CLOCK_READ > 0) return;
    if (this.#clock !== undefined && this.#clock.monotonicMs() > this.#endMs) throw new SearchTimedOut();
  }
}
