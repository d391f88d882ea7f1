import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { maskCount, type TopologyHint } from './hints.ts';
import { hintLists, mergeHints } from './merge-hints.ts';

const yes = (affinity: number): TopologyHint => ({ affinity, preferred: true });
const no = (affinity: number): TopologyHint => ({ affinity, preferred: false });

type Lists = readonly (readonly TopologyHint[])[];

function combinations(lists: Lists): TopologyHint[][] {
  return lists.reduce<TopologyHint[][]>(
    (heads, list) => heads.flatMap((head) => list.map((hint) => [...head, hint])),
    [[]],
  );
}

const definedOf = (hints: readonly TopologyHint[]): number[] =>
  hints.flatMap(({ affinity }) => (affinity === undefined ? [] : [affinity]));

/** Merges each combination and sorts the results. */
function bestOfAll(lists: Lists, all: number): TopologyHint {
  const smallestCounts = lists.map((list) => Math.min(...definedOf(list).map(maskCount)));
  const wide = Math.max(0, ...smallestCounts.filter(Number.isFinite));
  const merged = combinations(lists).map((hints) => ({
    affinity: definedOf(hints).reduce((both, mask) => both & mask, all),
    preferred: hints.every(({ preferred }) => preferred) && new Set(definedOf(hints)).size <= 1,
  }));
  // Of those that are not preferred: no more nodes than `wide` before more, each as near to it as can be.
  const rank = ({ affinity, preferred }: { affinity: number; preferred: boolean }): number[] => {
    const count = maskCount(affinity);
    return preferred ? [0, 0, count, affinity] : [1, count > wide ? 1 : 0, Math.abs(count - wide), affinity];
  };
  const [best] = merged
    .filter(({ affinity }) => affinity !== 0)
    .toSorted(
      (a, b) =>
        rank(a)
          .map((key, at) => key - rank(b)[at]!)
          .find((difference) => difference !== 0) ?? 0,
    );
  return best ?? no(all);
}

describe('merging hints of two NUMA nodes', () => {
  const cases: [string, Parameters<typeof hintLists>[0], TopologyHint][] = [
    ['nobody cares', [{}, { gpu: undefined }], yes(3)],
    ['one resource', [{ cpu: [yes(1), yes(2), no(3)] }], yes(1)],
    ['both on the second', [{ cpu: [yes(1), yes(2), no(3)] }, { gpu: [yes(2), no(3)] }], yes(2)],
    ['apart', [{ cpu: [yes(1)] }, { gpu: [yes(2)] }], no(3)],
    ['across, not the same nodes', [{ cpu: [yes(1), no(3)] }, { gpu: [yes(2), no(3)] }], no(1)],
    ['needs both nodes', [{ cpu: [yes(3)] }, { gpu: [yes(3)] }], yes(3)],
    ['cannot be done', [{ cpu: [] }, { gpu: [yes(1)] }], no(1)],
  ];
  for (const [name, providers, expected] of cases)
    it(name, () => assert.deepEqual(mergeHints(hintLists(providers), 3), expected));
});

describe('merging hints of four NUMA nodes that do not agree', () => {
  it('uses as many nodes as the resource with the largest need', () => {
    const lists = hintLists([{ cpu: [no(0b0011), no(0b0111), no(0b1111)] }, { gpu: [no(0b0001), no(0b0011)] }]);
    assert.deepEqual(mergeHints(lists, 0b1111), no(0b0011));
  });
});

describe('merging hints of many resources', () => {
  const masks = Array.from({ length: 15 }, (_, at) => at + 1);

  it('does not try every combination of fifty resources', () => {
    const lists = Array.from({ length: 50 }, () => masks.map((mask) => (mask < 3 ? yes(mask) : no(mask))));
    assert.deepEqual(mergeHints(lists, 0b1111), yes(1));
  });

  it('finds what trying every combination finds', () => {
    const random = createSeededRandom(5);
    const draw = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
    const hint = (): TopologyHint => ({
      affinity: draw([undefined, 15, 1, ...draw([[], masks])]),
      preferred: random.next() < 0.7,
    });
    for (let round = 0; round < 500; round++) {
      const lists = Array.from({ length: 1 + Math.floor(random.next() * 4) }, () =>
        Array.from({ length: 1 + Math.floor(random.next() * 4) }, hint),
      );
      assert.deepEqual(mergeHints(lists, 0b1111), bestOfAll(lists, 0b1111), JSON.stringify(lists));
    }
  });
});
