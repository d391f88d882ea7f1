/** Sets of intervals against sets of numbers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { IndexSet, type Interval } from './index-set.ts';

const LIMIT = 24;
const MOST = 2147483647;

function numbersOf(intervals: Iterable<Interval>): number[] {
  return [...intervals].flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => first + at));
}

describe('a set of indexes', () => {
  it('is that of the numbers in its intervals', () => {
    const random = createSeededRandom(11);
    const some = (): Interval[] =>
      Array.from({ length: random.int(6) }, () => {
        const first = random.int(LIMIT);
        return [first, Math.min(LIMIT - 1, first + random.int(5) - 1)] as const;
      });
    for (let round = 0; round < 2000; round++) {
      const [left, right] = [some(), some()];
      const [a, b] = [IndexSet.of(left), IndexSet.of(right)];
      const [plainA, plainB] = [new Set(numbersOf(left)), new Set(numbersOf(right))];
      const sorted = (numbers: Iterable<number>): number[] => [...numbers].sort((x, y) => x - y);
      const extra = [random.int(LIMIT), random.int(LIMIT)];
      const limit = random.int(LIMIT);
      const all = Array.from({ length: LIMIT }, (_, index) => index);
      assert.deepEqual(numbersOf(a.intervals), sorted(plainA));
      assert.equal(a.size, plainA.size);
      assert.deepEqual(
        all.filter((index) => a.has(index)),
        sorted(plainA),
      );
      assert.deepEqual(numbersOf(a.union(b).intervals), sorted(plainA.union(plainB)));
      assert.deepEqual(numbersOf(a.minus(b).intervals), sorted(plainA.difference(plainB)));
      assert.deepEqual(numbersOf(a.with(extra).intervals), sorted(plainA.union(new Set(extra))));
      assert.equal(a.sharedWith(b), plainA.intersection(plainB).size);
      assert.deepEqual(
        numbersOf(a.gaps(limit)),
        all.filter((index) => index < limit && !plainA.has(index)),
      );
      for (const [at, [first]] of a.intervals.entries())
        assert.ok(at === 0 || a.intervals[at - 1]![1] + 1 < first, 'intervals are separate');
    }
  });

  it('holds 2147483647 indexes as one interval', () => {
    const set = IndexSet.of([[0, MOST - 1]]).minus(IndexSet.of([[7, 7]]));
    assert.deepEqual(set.intervals, [
      [0, 6],
      [8, MOST - 1],
    ]);
    assert.deepEqual([set.size, set.has(7), set.has(MOST - 1), [...set.gaps(MOST)]], [MOST - 1, false, true, [[7, 7]]]);
    assert.deepEqual([...IndexSet.EMPTY.gaps(MOST)], [[0, MOST - 1]]);
  });
});
