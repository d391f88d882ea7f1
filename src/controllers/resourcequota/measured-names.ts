/**
 * Which names of a quota a kind measures. A quota may have tens of thousands of names, and there are hundreds of
 * kinds: for kinds that measure a few known names these are looked up; for the others each name is compared, with
 * yields.
 */
import type { QuotaEvaluator } from '../../component-helpers/quota/evaluator.ts';
import type { Clock } from '../../platform/clock.ts';

const NAMES_PER_TURN = 20_000;

export class MeasuredNames {
  readonly #clock: Pick<Clock, 'yield'>;
  readonly #sets = new WeakMap<readonly string[], ReadonlySet<string>>();
  /** Names compared since the last yield, of all quotas. */
  #compared = 0;

  constructor(clock: Pick<Clock, 'yield'>) {
    this.#clock = clock;
  }

  async of(evaluator: QuotaEvaluator, names: readonly string[]): Promise<readonly string[]> {
    if (evaluator.names !== undefined) {
      const all = this.#setOf(names);
      return evaluator.names.filter((name) => all.has(name));
    }
    const measured: string[] = [];
    for (const name of names) {
      if (this.#compared++ === NAMES_PER_TURN) {
        this.#compared = 1;
        await this.#clock.yield();
      }
      if (evaluator.measures(name)) measured.push(name);
    }
    return measured;
  }

  #setOf(names: readonly string[]): ReadonlySet<string> {
    let all = this.#sets.get(names);
    if (all === undefined) this.#sets.set(names, (all = new Set(names)));
    return all;
  }
}
