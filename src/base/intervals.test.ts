import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commonIntervals, joinIntervals, withoutIntervals, type Interval } from './intervals.ts';

const TOP = 12;
/** Every set of up to three intervals below TOP that a small counter can name. */
function* someSets(): Generator<Interval[]> {
  for (let seed = 0; seed < 4_000; seed++) {
    const count = seed % 4;
    const digit = (at: number): number => Math.floor(seed / 7 ** at) % TOP;
    yield Array.from({ length: count }, (_, i) => {
      const [a, b] = [digit(i), digit(i + 1)].toSorted((x, y) => x - y) as [number, number];
      return { first: BigInt(a), last: BigInt(b) };
    });
  }
}
const holds = (set: readonly Interval[], n: bigint): boolean => set.some(({ first, last }) => first <= n && n <= last);
const numbers = Array.from({ length: TOP + 2 }, (_, n) => BigInt(n));

test('joined intervals contain the same numbers, ascend, and neither overlap nor touch', () => {
  for (const set of someSets()) {
    const joined = joinIntervals(set);
    for (const n of numbers) assert.equal(holds(joined, n), holds(set, n));
    for (const [i, { first, last }] of joined.entries()) {
      assert.ok(first <= last);
      if (i > 0) assert.ok(first > joined[i - 1]!.last + 1n);
    }
  }
});

test('an interval without others contains the numbers outside them', () => {
  const whole = { first: 2n, last: 9n };
  for (const set of someSets()) {
    const left = withoutIntervals(whole, set);
    for (const n of numbers) assert.equal(holds(left, n), holds([whole], n) && !holds(set, n));
  }
});

test('the intersection contains the numbers of both', () => {
  const sets = [...someSets()].filter((_, at) => at % 37 === 0).map(joinIntervals);
  for (const a of sets)
    for (const b of sets) {
      const common = commonIntervals(a, b);
      for (const n of numbers) assert.equal(holds(common, n), holds(a, n) && holds(b, n));
    }
});
