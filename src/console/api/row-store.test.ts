import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RowStore, type RowOrder } from './row-store.ts';
import type { Row } from './table.ts';
import type { RowChange } from './table-list.ts';

const rowOf = (uid: number, value: number): Row => ({
  uid: `u${uid}`,
  namespace: `ns${uid % 3}`,
  name: `n${uid}`,
  createdMs: 0,
  deleting: false,
  labels: {},
  cells: [value],
});
const byValue: RowOrder = {
  shows: ({ cells }) => Number(cells[0]) % 5 !== 0,
  compare: (a, b) => Number(a.cells[0]) - Number(b.cells[0]),
};

test('the rows after any changes are those of a complete sort', () => {
  const change = fc.tuple(fc.nat(60), fc.nat(20), fc.boolean());
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 30 }), { maxLength: 8 }), fc.boolean(), (batches, large) => {
      const store = new RowStore();
      store.setOrder(byValue);
      const rows = new Map<string, Row>();
      for (const batch of batches) {
        const changes = batch.map(([uid, value, removes]): RowChange => {
          const row = rowOf(uid, value);
          if (removes) rows.delete(row.uid);
          else rows.set(row.uid, row);
          return { type: removes ? 'remove' : 'put', row };
        });
        // Many changes at once are merged, few are inserted one by one.
        const others = large ? Array.from({ length: 501 }, (_, index) => rowOf(1000 + index, 0)) : [];
        store.apply([...others.map((row) => ({ type: 'remove', row }) as const), ...changes]);
      }
      const fresh = new RowStore();
      fresh.setOrder(byValue);
      fresh.apply([...rows.values()].map((row) => ({ type: 'put', row })));
      assert.deepEqual(store.shown, fresh.shown);
      assert.equal(store.size, rows.size);
      for (const [index, row] of store.shown.entries()) assert.equal(store.indexOf(row), index);
    }),
  );
});

test('rows that a second complete read lacks are removed', () => {
  const store = new RowStore();
  store.apply([1, 2, 3].map((uid) => ({ type: 'put', row: rowOf(uid, uid) })));
  store.keep(new Set(['u1', 'u3']));
  assert.deepEqual(
    store.shown.map(({ uid }) => uid),
    ['u3', 'u1'],
  );
});
