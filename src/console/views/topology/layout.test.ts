import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Row } from '../../api/table.ts';
import { type Item, itemAt, layoutOf, measuresOf, placeOf, TILE_SIZES } from './layout.ts';
import { moved } from './movement.ts';
import type { Tile } from './pod-tiles.ts';
import type { SceneGroup } from './scene.ts';

const tile = (uid: string): Tile => ({
  row: { uid } as Row,
  node: '',
  status: '',
  ready: '',
  restarts: '',
  tone: 'good',
});

/** Groups of nodes with these numbers of pods; the first group may be that of pods without a node. */
const groupsOf = (counts: readonly (readonly number[])[], waiting: number): readonly SceneGroup[] => {
  const node = (name: string, count: number) => ({
    name,
    row: undefined,
    status: '',
    tone: 'good' as const,
    use: undefined,
    tiles: Array.from({ length: count }, (_, at) => tile(`${name} ${at}`)),
  });
  const groups = counts.map((members, group) => ({
    title: group === 0 ? '' : `zone ${group}`,
    nodes: members.map((count, at) => node(`n${group}-${at}`, count)),
  }));
  return waiting === 0 ? groups : [{ title: '', nodes: [node('', waiting)] }, ...groups];
};

const itemsOf = (groups: readonly SceneGroup[]): readonly Item[] =>
  groups.flatMap(({ nodes }) =>
    nodes.flatMap(({ name, tiles }) => [-1, ...tiles.keys()].map((index) => ({ node: name, index }))),
  );

const world = fc.record({
  counts: fc.array(fc.array(fc.nat(40), { maxLength: 12 }), { maxLength: 3 }),
  waiting: fc.nat(90),
  width: fc.integer({ min: 250, max: 3800 }),
  size: fc.constantFrom(...TILE_SIZES),
});

test('every item is found at the point where it is drawn, within the width, and none overlap', () => {
  fc.assert(
    fc.property(world, ({ counts, waiting, width, size }) => {
      const groups = groupsOf(counts, waiting);
      const layout = layoutOf(groups, width, measuresOf(size));
      for (const item of itemsOf(groups)) {
        const place = placeOf(layout, item)!;
        assert.ok(place.left >= 0 && place.left + place.width <= width + 0.01, JSON.stringify({ item, place, width }));
        assert.ok(place.top + place.height <= layout.height);
        if (item.index < 0 && layout.measures.head === 0) continue; // its tiles cover it
        assert.deepEqual(itemAt(layout, place.left + place.width / 2, place.top + place.height / 2), item);
      }
    }),
    { seed: 19, numRuns: 200 },
  );
});

test('arrow keys reach every node and pod from the first, and no key leaves the map', () => {
  fc.assert(
    fc.property(world, ({ counts, waiting, width, size }) => {
      const groups = groupsOf(counts, waiting);
      const layout = layoutOf(groups, width, measuresOf(size));
      const items = new Set(itemsOf(groups).map((item) => JSON.stringify(item)));
      const reached = new Set<string>();
      const first = moved(layout, { node: 'none', index: -1 }, 'Home');
      let at = first;
      while (at !== undefined && !reached.has(JSON.stringify(at))) {
        reached.add(JSON.stringify(at));
        for (const key of ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'PageUp', 'PageDown', 'End']) {
          const next: Item | undefined = moved(layout, at, key);
          assert.ok(next !== undefined && items.has(JSON.stringify(next)), `${key} ${JSON.stringify({ at, next })}`);
        }
        at = moved(layout, at, 'ArrowRight');
      }
      assert.deepEqual(reached, items);
    }),
    { seed: 19, numRuns: 200 },
  );
});
