/** Sets: lists whose order and repetitions do not matter. Upstream: cel-go ext.Sets. */
import type { Environment } from '@marcbachmann/cel-js';
import { defineNamespace } from '../define.ts';
import { charge } from '../meter.ts';
import { celEquals } from '../values.ts';

/** Declares the library. */
export function defineSets(environment: Environment): void {
  defineNamespace(environment, 'sets', {
    'contains(list<A>, list<A>): bool': contains,
    'equivalent(list<A>, list<A>): bool': (a: unknown[], b: unknown[]) => contains(a, b) && contains(b, a),
    'intersects(list<A>, list<A>): bool': (a: unknown[], b: unknown[]) => {
      charge(a.length * b.length);
      return a.some((item) => b.some((other) => celEquals(item, other)));
    },
  });
}

function contains(all: unknown[], some: unknown[]): boolean {
  charge(all.length * some.length);
  return some.every((item) => all.some((other) => celEquals(item, other)));
}
