import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Row } from '../../api/table.ts';
import type { RowChange } from '../../api/table-list.ts';
import { PodTiles } from './pod-tiles.ts';

const COLUMNS = ['Name', 'Ready', 'Status', 'Restarts', 'Age', 'IP', 'Node'].map((name) => ({
  name,
  type: 'string',
  description: '',
  wide: false,
}));
const rowOf = (uid: number, node: number, status: string): Row => ({
  uid: `u${uid}`,
  namespace: `ns${uid % 2}`,
  name: `p${uid}`,
  createdMs: 0,
  deleting: false,
  labels: {},
  cells: [
    `p${uid}`,
    status === 'Starting' ? '0/1' : '1/1',
    status === 'Starting' ? 'Running' : status,
    '0',
    '1s',
    '',
    node === 0 ? '<none>' : `n${node}`,
  ],
});

test('after any changes each node has the tiles of its pods, in order and with their states', () => {
  const change = fc.tuple(
    fc.nat(30),
    fc.nat(3),
    fc.constantFrom('Running', 'Starting', 'Error', 'Completed', 'Odd'),
    fc.boolean(),
  );
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 20 }), { maxLength: 6 }), fc.boolean(), (batches, filtered) => {
      const tiles = new PodTiles();
      tiles.setColumns(COLUMNS);
      const shows = ({ name }: Row): boolean => !name.endsWith('3');
      const rows = new Map<string, Row>();
      for (const batch of batches) {
        const changes = batch.map(([uid, node, status, removes]): RowChange => ({
          type: removes ? 'remove' : 'put',
          row: rowOf(uid, node, status),
        }));
        tiles.apply(changes);
        if (filtered) tiles.setFilter(shows);
        for (const { type, row } of changes)
          if (type === 'put') rows.set(row.uid, row);
          else rows.delete(row.uid);
      }
      assert.equal(tiles.size, rows.size);
      const expected = [...rows.values()].sort((a, b) =>
        `${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1,
      );
      for (const node of ['', 'n1', 'n2', 'n3']) {
        const own = expected.filter(
          (row) => row.cells[6] === (node || '<none>') && (!filtered || batches.length === 0 || shows(row)),
        );
        assert.deepEqual(
          tiles.of(node).map(({ row }) => row),
          own,
        );
      }
      const tones = { good: 'Running', busy: 'Starting', bad: 'Error', done: 'Completed', plain: 'Odd' } as const;
      for (const [tone, status] of Object.entries(tones)) {
        const isOf = ({ cells }: Row): boolean => (cells[1] === '0/1' ? 'Starting' : cells[2]) === status;
        assert.equal(tiles.counts[tone as keyof typeof tones], expected.filter(isOf).length, tone);
      }
      tiles.keep(new Set(['u1']));
      assert.ok(tiles.size <= 1);
      tiles.clear();
      assert.deepEqual([tiles.size, [...tiles.nodeNames()]], [0, []]);
    }),
    { seed: 19, numRuns: 200 },
  );
});
