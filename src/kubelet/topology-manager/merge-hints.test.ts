import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSeededRandom } from '../../platform/sim/random.ts';
import type { TopologyHint } from './hints.ts';
import { hintLists, mergeHints } from './merge-hints.ts';

const yes = (affinity: number): TopologyHint => ({ affinity, preferred: true });
const no = (affinity: number): TopologyHint => ({ affinity, preferred: false });

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

  it('finds the same in any order of the resources', () => {
    const random = createSeededRandom(5);
    const draw = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
    const hint = (): TopologyHint => ({ affinity: draw([undefined, ...masks]), preferred: random.next() < 0.5 });
    for (let round = 0; round < 500; round++) {
      const lists = Array.from({ length: 1 + Math.floor(random.next() * 4) }, () =>
        Array.from({ length: 1 + Math.floor(random.next() * 4) }, hint),
      );
      const found = mergeHints(lists, 0b1111);
      assert.deepEqual(mergeHints(lists.toReversed(), 0b1111), found, JSON.stringify(lists));
    }
  });
});
