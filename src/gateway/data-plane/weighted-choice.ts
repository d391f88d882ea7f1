/** Distributes requests among the backends of a route by weight, evenly (smooth weighted round robin, as in nginx). */
import type { Route, WeightedBackend } from '../snapshot/snapshot.ts';

type Weighted = Pick<Route, 'source' | 'backends'>;

export class WeightedChoice {
  /** Counters by list of backends, which all routes of a rule share. */
  readonly #currents = new WeakMap<readonly WeightedBackend[], number[]>();
  #kept: ReadonlyMap<string, number[]> = new Map();

  /**
   * Keeps the counters of rules whose backends and weights are unchanged, so that frequent snapshots do not reduce small shares.
   */
  use(routes: Iterable<Weighted>): void {
    const kept = new Map<string, number[]>();
    for (const { source, backends } of routes) {
      if (backends.length < 2 || this.#currents.has(backends)) continue;
      const key = JSON.stringify([source, backends.map(({ backend, weight }) => [backend, weight])]);
      const currents = kept.get(key) ?? this.#kept.get(key) ?? backends.map(() => 0);
      kept.set(key, currents);
      this.#currents.set(backends, currents);
    }
    this.#kept = kept;
  }

  /** Undefined when no backend has a weight. */
  choose({ backends }: Weighted): WeightedBackend | undefined {
    if (backends.length === 1) return backends[0]!.weight > 0 ? backends[0] : undefined;
    const currents = this.#currents.get(backends) ?? backends.map(() => 0);
    this.#currents.set(backends, currents);
    let total = 0;
    let best = -1;
    for (const [index, { weight }] of backends.entries()) {
      if (weight <= 0) continue;
      total += weight;
      currents[index]! += weight;
      if (best < 0 || currents[index]! > currents[best]!) best = index;
    }
    if (best < 0) return undefined;
    currents[best]! -= total;
    return backends[best];
  }
}
