/**
 * Run-time cost of expressions, in upstream's units: about one per operation, a tenth per character read. Evaluation is
 * synchronous, so the current meter is one module variable; library functions charge what they read and create beyond the flat
 * price of a call. Besides upstream's cost the meter counts work: operations that take longer here than their price. A unit of
 * work is about 50 ns. Cost and work have separate limits of the same size, so counting work never makes an expression fail
 * earlier by cost. Upstream: cel-go's runtime cost tracker with library/cost.go.
 */
import type { Steps } from '../../base/steps.ts';

/** Upstream's text for an expression that exceeds its cost limit. */
const COST_EXCEEDED_TEXT = 'operation cancelled: actual cost limit exceeded';

/** Thrown when an expression exceeds its limit. */
export class CostExceededError extends Error {
  constructor() {
    super(COST_EXCEEDED_TEXT);
  }
}

/** One shared instance: loops may throw it thousands of times, and stack traces would cost more than the work that it ends. */
const exceeded = new CostExceededError();

/** The cost limit of one expression (upstream's PerCallLimit). */
export const PER_CALL_LIMIT = 1_000_000;

/** The cost limit of all expressions of one object, or of one policy and request. */
export const RUNTIME_COST_BUDGET = 10_000_000;

/** The cost limit of all match conditions of one webhook or policy for one request. */
export const MATCH_CONDITIONS_COST_BUDGET = 2_500_000;

/** Counts the cost and the work of one evaluation. */
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

  /** The work beyond upstream's price. */
  get work(): number {
    return this.#work;
  }

  /** The larger of cost and work, which budgets are reduced by. */
  get spent(): number {
    return Math.max(this.#cost, this.#work);
  }

  get exceeded(): boolean {
    return this.#cost > this.limit || this.#work > this.limit;
  }

  /** The cost that may still be spent. */
  get left(): number {
    return Math.max(0, this.limit - this.spent);
  }

  /** Throws {@link CostExceededError} when the limit is passed, and again at every later charge. */
  charge(cost: number): void {
    this.#cost += cost;
    if (this.exceeded) throw exceeded;
  }

  /** Adds the counts of another meter without throwing. */
  add({ cost, work }: Meter): void {
    this.#cost += cost;
    this.#work += work;
  }

  /** Adds work. Throws {@link CostExceededError} as `charge` does. */
  chargeWork(work: number): void {
    this.#work += work;
    if (this.exceeded) throw exceeded;
  }
}

let current: Meter | undefined;

/** Charges the evaluation that is running. */
export function charge(cost: number): void {
  current?.charge(cost);
}

/** Charges work that takes longer here than upstream's price of it. It counts toward the limit of work, not to the cost. */
export function chargeWork(work: number): void {
  current?.chargeWork(work);
}

/** Items per unit of work. */
const ITEMS_OF_UNIT = 50;

/** Charges copies and scans of simple values or characters, for which upstream charges nothing. */
export function copyWork(items: number): void {
  current?.chargeWork(items / ITEMS_OF_UNIT);
}

/** Comparisons of shorter texts are free. */
const LONG_TEXT = 1000;

/** Charges the comparison of a text with another of the same length. */
export function comparisonWork(text: string): void {
  if (text.length > LONG_TEXT) copyWork(text.length);
}

/** Units of work for one call that matches patterns, for a text of any length. */
const CALL_WORK = 20;

/** Charges pattern matching by units for each character; upstream's price of most such functions is a tenth per character. */
export function textWork(text: string, unitsOfCharacter: number): void {
  current?.chargeWork(CALL_WORK + text.length * unitsOfCharacter);
}

/** Values per unit of work when values are visited one by one. */
const VALUES_OF_UNIT = 10;

/** Charges a traversal of nested values. A value that occurs at many places is visited at each. */
export function walkWork(values: number): void {
  current?.chargeWork(values / VALUES_OF_UNIT);
}

/** The cost that the running evaluation has left. */
export function leftNow(): number {
  return current?.left ?? Number.POSITIVE_INFINITY;
}

/** Throws when a price that is charged later would exceed the limit. */
export function checkPrice(cost: number): void {
  if (current !== undefined && current.cost + cost > current.limit) throw exceeded;
}

/** Runs an evaluation with a meter; calls may be nested. */
export function metered<T>(meter: Meter, run: () => T): T {
  const outer = current;
  current = meter;
  try {
    return run();
  } finally {
    current = outer;
  }
}

/** Runs with a meter of its own, whose work is added to the current meter: neither limit may be exceeded. */
export function meteredWithin<T>(limit: number, run: () => T): T {
  const outer = current;
  const meter = new Meter(Math.min(limit, outer?.left ?? limit));
  try {
    return metered(meter, run);
  } finally {
    outer?.add(meter);
  }
}

/** Runs with the current meter, or with a new one when there is none. */
export function bounded<T>(limit: number, run: () => T): T {
  return current === undefined ? metered(new Meter(limit), run) : run();
}

/** `bounded` for work in steps: what other tasks do between the steps is not charged. */
export function* boundedSteps<T>(limit: number, steps: Steps<T>): Steps<T> {
  const meter = current ?? new Meter(limit);
  for (;;) {
    const { done, value } = metered(meter, () => steps.next());
    if (done === true) return value;
    yield;
  }
}
