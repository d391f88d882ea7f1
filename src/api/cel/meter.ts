/**
 * Run-time cost of expressions, in upstream's units: about one per operation, a tenth per character read. Evaluation is
 * synchronous, so the meter in use is one module variable; library functions charge what they read and make beyond the
 * flat price of a call. Beside the cost, which is upstream's, work is counted that takes longer here than its price says;
 * a unit stands for about 50 ns. Each has the same limit, so what upstream's price allows is not refused for the work of
 * keeping count of it. Upstream: cel-go's runtime cost tracker with library/cost.go.
 */
import type { Steps } from '../../base/steps.ts';

/** The text upstream gives when one expression costs too much. */
const COST_EXCEEDED_TEXT = 'operation cancelled: actual cost limit exceeded';

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

  /** Work beyond upstream's price of it. */
  get work(): number {
    return this.#work;
  }

  /** The cost, or the work where that is more: what budgets are reduced by. */
  get spent(): number {
    return Math.max(this.#cost, this.#work);
  }

  get exceeded(): boolean {
    return this.#cost > this.limit || this.#work > this.limit;
  }

  /** What may still be spent. */
  get left(): number {
    return Math.max(0, this.limit - this.spent);
  }

  /** Throws {@link CostExceededError} when the limit is passed, and again at every later charge. */
  charge(cost: number): void {
    this.#cost += cost;
    if (this.exceeded) throw exceeded;
  }

  /** Counts what another meter counted, without throwing. */
  add({ cost, work }: Meter): void {
    this.#cost += cost;
    this.#work += work;
  }

  /** The same for work beyond upstream's price of it. */
  chargeWork(work: number): void {
    this.#work += work;
    if (this.exceeded) throw exceeded;
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

/** Charges copies, and scans of simple values or characters, that upstream does not price. */
export function copyWork(items: number): void {
  current?.chargeWork(items / ITEMS_OF_UNIT);
}

/** Shorter texts are compared at no price. */
const LONG_TEXT = 1000;

/** Charges comparing a text with another of its length. */
export function comparisonWork(text: string): void {
  if (text.length > LONG_TEXT) copyWork(text.length);
}

/** Units of one call that reads a text by patterns, whatever its length. */
const CALL_WORK = 20;

/** Charges reading a text by patterns, this many units for each character: upstream's price of most is a tenth. */
export function textWork(text: string, unitsOfCharacter: number): void {
  current?.chargeWork(CALL_WORK + text.length * unitsOfCharacter);
}

/** Values in one unit of work, where each is looked at by itself. */
const VALUES_OF_UNIT = 10;

/** Charges a walk through what is inside values: one value may be at many places, and is walked through at each. */
export function walkWork(values: number): void {
  current?.chargeWork(values / VALUES_OF_UNIT);
}

/** What the evaluation that runs now may still spend. */
export function leftNow(): number {
  return current?.left ?? Number.POSITIVE_INFINITY;
}

/** Throws where a price that is paid afterwards would pass the limit. */
export function checkPrice(cost: number): void {
  if (current !== undefined && current.cost + cost > current.limit) throw exceeded;
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

/** Runs on a meter of its own, whose work is the meter's in use too: neither limit is passed. */
export function meteredWithin<T>(limit: number, run: () => T): T {
  const outer = current;
  const meter = new Meter(Math.min(limit, outer?.left ?? limit));
  try {
    return metered(meter, run);
  } finally {
    outer?.add(meter);
  }
}

/** Runs on the meter in use, or on one of its own. */
export function bounded<T>(limit: number, run: () => T): T {
  return current === undefined ? metered(new Meter(limit), run) : run();
}

/** The same of steps: what others do between them is not charged. */
export function* boundedSteps<T>(limit: number, steps: Steps<T>): Steps<T> {
  const meter = current ?? new Meter(limit);
  for (;;) {
    const { done, value } = metered(meter, () => steps.next());
    if (done === true) return value;
    yield;
  }
}
