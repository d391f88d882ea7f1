/**
 * Bounds the searches for devices of one scheduling cycle, which is one turn of the loop: nodes, requests, selectors and devices
 * multiply. Selectors that take too long end the attempt with an error; their verdicts are kept, so that the pod's next attempt
 * goes on from there. Nodes after many steps of search have few left. Differs: upstream ends a node's search by the clock.
 */

/** Some 30 ms. */
const MAX_EVALUATIONS = 50_000;
const MAX_STEPS = 100_000;
/** So many steps are tried for one node before the search is given up. */
const MAX_STEPS_OF_NODE = 20_000;
const MIN_STEPS_OF_NODE = 200;

/** The cycle has taken as long as it may. */
export class SearchUnfinished extends Error {
  constructor() {
    super('the search for devices takes long: it goes on with the next attempt');
    this.name = 'SearchUnfinished';
  }
}

export class SearchBudget {
  #evaluations: number;
  #steps = MAX_STEPS;
  #ofNode = MAX_STEPS_OF_NODE;

  constructor(evaluations = MAX_EVALUATIONS) {
    this.#evaluations = evaluations;
  }

  /** The search goes on with another node. */
  nextNode(): void {
    this.#ofNode = Math.max(MIN_STEPS_OF_NODE, Math.min(MAX_STEPS_OF_NODE, this.#steps));
  }

  /** False: the search for this node is given up. */
  maySpend(steps: number): boolean {
    this.#steps -= steps;
    this.#ofNode -= steps;
    return this.#ofNode >= 0;
  }

  /** So many expressions are evaluated, and the device is looked at. Throws {@link SearchUnfinished}. */
  evaluate(expressions: number): void {
    this.#evaluations -= expressions + 1;
    if (this.#evaluations < 0) throw new SearchUnfinished();
  }
}
