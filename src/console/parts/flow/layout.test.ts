import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Flow } from './flow.ts';
import { BOX_HEIGHT, boxWidthIn, layoutFlow, LEAST_BOX_WIDTH } from './layout.ts';

const flows: fc.Arbitrary<Flow> = fc
  .tuple(
    fc.array(fc.nat(9), { minLength: 1, maxLength: 4 }),
    fc.array(fc.tuple(fc.nat(40), fc.nat(40)), { maxLength: 30 }),
  )
  .map(([counts, pairs]) => {
    const columns = counts.map((count, column) => ({
      title: `c${column}`,
      boxes: Array.from({ length: count }, (_, at) => ({
        id: `${column}-${at}`,
        title: '',
        detail: '',
        tone: 'good' as const,
      })),
    }));
    const all = columns.flatMap(({ boxes }, column) => boxes.map(({ id }) => ({ id, column })));
    const edges = pairs.flatMap(([one, other]) => {
      const [from, to] = [all[one % Math.max(1, all.length)], all[other % Math.max(1, all.length)]];
      return from === undefined || to === undefined || from.column >= to.column
        ? []
        : [{ from: from.id, to: to.id, tone: 'good' as const }];
    });
    return { columns, edges };
  });

test('boxes do not overlap and lie within the diagram, and every edge has a line', () => {
  fc.assert(
    fc.property(flows, (flow) => {
      const { boxes, edges, width, height } = layoutFlow(flow, LEAST_BOX_WIDTH);
      assert.equal(boxes.length, flow.columns.flatMap((column) => column.boxes).length);
      assert.equal(edges.length, flow.edges.length);
      for (const one of boxes) {
        assert.ok(
          one.top >= 0 && one.top + BOX_HEIGHT <= height && one.left >= 0 && one.left + LEAST_BOX_WIDTH <= width,
        );
        for (const other of boxes)
          if (one !== other && one.left === other.left) assert.ok(Math.abs(one.top - other.top) >= BOX_HEIGHT);
      }
    }),
    { seed: 19, numRuns: 300 },
  );
});

test('boxes fill the width between their minimum and their maximum', () => {
  assert.deepEqual(
    [boxWidthIn(320, 3), boxWidthIn(1040, 4), boxWidthIn(1040, 3), boxWidthIn(4000, 3)],
    [LEAST_BOX_WIDTH, 216, 300, 300],
  );
});
