/** Shares requests among the backends of a route by their weights, evenly spread (smooth weighted round robin, as nginx). */
import type { Route, WeightedBackend } from '../snapshot/snapshot.ts';

export class WeightedChoice {
  readonly #currents = new WeakMap<Route, number[]>();

  /** Undefined: the route has no backend with a weight. */
  choose(route: Route): WeightedBackend | undefined {
    const { backends } = route;
    if (backends.length === 1) return backends[0]!.weight > 0 ? backends[0] : undefined;
    const currents = this.#currents.get(route) ?? backends.map(() => 0);
    this.#currents.set(route, currents);
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
