/**
 * Run-time cost of expressions, in upstream's units: about one per operation, a tenth per character read. Evaluation is
 * synchronous, so the meter in use is one module variable; library functions charge what they read and make beyond the
 * flat price of a call. Beside the cost, which is upstream's, work is counted that
 * takes longer here than its price says.
 * Upstream: cel-go's runtime cost tracker with library/cost.go.
 */

/** The text upstream gives when one expression costs too much. */
export const COST_EXCEEDED_TEXT = 'operation cancelled: actual cost limit exceeded';

/** An expression went over its limit. */
export class CostExceededError extends Error {
  constructor() {
    super(COST_EXCEEDED_TEXT);
  }
}

/** Made once: loops may meet it many thousand times, and a stack trace each would cost more than what it stops. */
const exceeded = new CostExceededError();

/** What one expression may cost (upstream's PerCallLimit). */
export const PER_CALL_LIMIT = 1_000_000;

/** What all expressions of one object, or of one policy and request, may cost together. */
export const RUNTIME_COST_BUDGET = 10_000_000;

/** What all match conditions of one webhook or policy may cost together for one request. */
export const MATCH_CONDITIONS_COST_BUDGET = 2_500_000;

/** Counts one evaluation. */
export class Meter {
  #cost = 0;
  #work = 0;
  readonly limit: number;

  constructor(limit: number = PER_CALL_LIMIT) {
    this.limit = limit;
  }

  get cost(): number {
    return this.#cost;
  }

  /** The cost, and the work that its units do not price: what budgets are reduced by. */
  get spent(): number {
    return this.#cost + this.#work;
  }

  get exceeded(): boolean {
    return this.spent > this.limit;
  }

  /** Throws {@link CostExceededError} when the limit is passed, and again at every later charge. */
  charge(cost: number): void {
    this.#cost += cost;
    if (this.#cost + this.#work > this.limit) throw exceeded;
  }

  /** The same for work beyond upstream's price of it. */
  chargeWork(work: number): void {
    this.#work += work;
    if (this.#cost + this.#work > this.limit) throw exceeded;
  }
}

let current: Meter | undefined;

/** Charges the evaluation that runs now. */
export function charge(cost: number): void {
  current?.charge(cost);
}

/** Charges work that takes longer here than upstream's price of it says; it counts toward limits, not to the cost. */
export function chargeWork(work: number): void {
  current?.chargeWork(work);
}

/** Items in one unit of work. */
const ITEMS_OF_UNIT = 50;

/** Charges copies that upstream does not make. */
export function copyWork(items: number): void {
  current?.chargeWork(items / ITEMS_OF_UNIT);
}

/** Runs an evaluation on a meter; nests. */
export function metered<T>(meter: Meter, run: () => T): T {
  const outer = current;
  current = meter;
  try {
    return run();
  } finally {
    current = outer;
  }
}
