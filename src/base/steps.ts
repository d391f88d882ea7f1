/** Work in steps, between which other tasks may get a turn. */

/** Yields between two steps; what it returns is the result. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Counts work, so that steps end after about this many units. */
export class StepMeter {
  #done = 0;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Adds completed work. Returns true when the step should end here. */
  endsStep(units: number): boolean {
    this.#done += units;
    if (this.#done < this.#limit) return false;
    this.#done = 0;
    return true;
  }
}

/** Runs all steps without a break and returns the result. */
export function allSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** The result, at once when there is only one step; otherwise a promise that waits for `pause` between the steps. */
export function stepByStep<T>(steps: Steps<T>, pause: () => Promise<void> | undefined): T | Promise<T> {
  const { done, value } = steps.next();
  return done === true ? value : goOn(steps, pause);
}

async function goOn<T>(steps: Steps<T>, pause: () => Promise<void> | undefined): Promise<T> {
  for (;;) {
    await pause();
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
