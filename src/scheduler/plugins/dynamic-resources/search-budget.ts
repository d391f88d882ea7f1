/**
 * Bounds the searches for devices of one scheduling cycle, which is one turn of the loop: nodes, requests, selectors and devices
 * multiply. Selectors that take too long end the attempt with an error; their verdicts are kept, so that the pod's next attempt
 * goes on from there. Nodes after many steps of search have few left. A node's search ends after `filterTimeout`, too.
 */
import type { Clock } from '../../../platform/clock.ts';

/** Some 30 ms. */
const MAX_EVALUATIONS = 50_000;
const MAX_STEPS = 100_000;
/** The most steps for one node before the search is given up. */
const MAX_STEPS_OF_NODE = 20_000;
const MIN_STEPS_OF_NODE = 200;
/** The deadline is checked at every so-many-th step, since reading the clock costs more than a step. */
const QUESTIONS_PER_READING = 32;

/** The cycle has taken as long as it may. */
export class SearchUnfinished extends Error {
  constructor() {
    super('the search for devices takes long: it goes on with the next attempt');
    this.name = 'SearchUnfinished';
  }
}

/** The search for one node took longer than `filterTimeout`. Upstream: context.DeadlineExceeded of Allocate. */
export class SearchTimedOut extends Error {
  constructor() {
    super('timed out trying to allocate devices');
    this.name = 'SearchTimedOut';
  }
}

/** `timeoutMs` of 0: no timeout. */
export interface SearchLimits {
  readonly evaluations?: number;
  readonly clock?: Pick<Clock, 'monotonicMs'>;
  readonly timeoutMs?: number;
}

export class SearchBudget {
  readonly #clock: SearchLimits['clock'];
  readonly #timeoutMs: number;
  #evaluations: number;
  #steps = MAX_STEPS;
  #ofNode = MAX_STEPS_OF_NODE;
  #endMs = Infinity;
  #questions = 0;

  constructor({ evaluations = MAX_EVALUATIONS, clock, timeoutMs = 0 }: SearchLimits = {}) {
    this.#evaluations = evaluations;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** The search goes on with another node. */
  nextNode(): void {
    if (this.#clock !== undefined && this.#timeoutMs > 0) this.#endMs = this.#clock.monotonicMs() + this.#timeoutMs;
    this.#ofNode = Math.max(MIN_STEPS_OF_NODE, Math.min(MAX_STEPS_OF_NODE, this.#steps));
  }

  /** False: the search for this node is given up. Throws {@link SearchTimedOut}. */
  maySpend(steps: number): boolean {
    this.#checkTime();
    this.#steps -= steps;
    this.#ofNode -= steps;
    return this.#ofNode >= 0;
  }

  /** Counts evaluated expressions and one examined device. Throws {@link SearchUnfinished} and {@link SearchTimedOut}. */
  evaluate(expressions: number): void {
    this.#checkTime();
    this.#evaluations -= expressions + 1;
    if (this.#evaluations < 0) throw new SearchUnfinished();
  }

  #checkTime(): void {
    if (this.#questions++ % QUESTIONS_PER_READING > 0) return;
    if (this.#clock !== undefined && this.#clock.monotonicMs() > this.#endMs) throw new SearchTimedOut();
  }
}
