/** Functions that treat lists as sets, without order and repetitions. Upstream: cel-go ext.Sets. */
import { indexOfEqual } from '../runtime/equality.ts';
import type { Declarations } from '../types/declarations.ts';

export function defineSets(declarations: Declarations): void {
  declarations.defineNamespaced({
    'sets.contains(list<T>, list<T>): bool': contains,
    'sets.equivalent(list<T>, list<T>): bool': (a: unknown[], b: unknown[]) => contains(a, b) && contains(b, a),
    'sets.intersects(list<T>, list<T>): bool': (a: unknown[], b: unknown[]) =>
      a.some((item) => indexOfEqual(b, item) >= 0),
  });
}

function contains(all: unknown[], some: unknown[]): boolean {
  return some.every((item) => indexOfEqual(all, item) >= 0);
}
