/**
 * Bounds the searches for devices of one scheduling cycle, which is one turn of the loop: nodes, requests, selectors and devices
 * multiply. An attempt that spends it ends with an error, and the pod's next one goes on from there: verdicts of selectors
 * are kept, and it begins with other nodes. Differs: upstream ends the search of a node by the clock (`filterTimeout`).
 */

/** Some 50 ms. */
const MAX_WORK = 200_000;
/** An expression that is evaluated takes so many times as long as a step. */
const EVALUATION_WORK = 4;

/** The cycle has taken as long as it may. */
export class SearchUnfinished extends Error {
  constructor() {
    super('the search for devices takes long: it goes on with the next attempt');
    this.name = 'SearchUnfinished';
  }
}

export class SearchBudget {
  #left: number;

  constructor(work = MAX_WORK) {
    this.#left = work;
  }

  /** Throws {@link SearchUnfinished}. */
  step(): void {
    this.#take(1);
  }

  /** So many expressions are evaluated, and the device is looked at. Throws {@link SearchUnfinished}. */
  evaluate(expressions: number): void {
    this.#take(EVALUATION_WORK * (expressions + 1));
  }

  #take(work: number): void {
    this.#left -= work;
    if (this.#left < 0) throw new SearchUnfinished();
  }
}
