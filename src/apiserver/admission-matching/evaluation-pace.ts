/**
 * When evaluations for one request yield to other requests. Bindings and parameters multiply the work of each policy.
 */

/** A few milliseconds of work. */
const COST_OF_STEP = 50_000;
/** The fixed cost of an evaluation. */
const COST_OF_EVALUATION = 10;
/** The fixed cost per binding and parameter: variables, the authorizer. */
const COST_OF_INVOCATION = 100;

/** Adds up the costs of evaluations for one request, and says when other requests should get a turn. */
export class EvaluationPace {
  #spent = 0;

  /** Counts an evaluation with this cost. */
  spend(cost: number): void {
    this.#spent += cost + COST_OF_EVALUATION;
  }

  /** Counts a policy's evaluation with one of its bindings and parameters. */
  invoke(): void {
    this.#spent += COST_OF_INVOCATION;
  }

  /** Returns true once per step's worth of work. */
  endsStep(): boolean {
    if (this.#spent < COST_OF_STEP) return false;
    this.#spent = 0;
    return true;
  }
}
