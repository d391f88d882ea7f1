import assert from 'node:assert/strict';
import { test } from 'node:test';
import { POD_FIELD_TABLES } from './document.ts';
import { isBelow, podLeaves as fields, podRows } from './leaves-fixture.ts';

const rows = podRows.map(([path]) => path);

test('every field of a pod has one row', () => {
  assert.ok(fields.length > 500);
  const wrong = fields.flatMap((field) => {
    const found = rows.filter((row) => isBelow(field, row));
    return found.length === 1 ? [] : [`${field}: ${found.length === 0 ? 'no row' : found.join(', ')}`];
  });
  assert.deepEqual(wrong, []);
});

test('every row is about a field', () => {
  const about = (row: string): boolean => fields.some((field) => isBelow(field, row));
  // Not every kind of container has every field.
  const idle = POD_FIELD_TABLES.flatMap(({ prefixes, rows: table }) =>
    Object.keys(table).filter((path) => !prefixes.some((prefix) => about(`${prefix}${path}`))),
  );
  assert.deepEqual(idle, []);
});

test('fields that are partly supported name the difference', () => {
  for (const { rows: table } of POD_FIELD_TABLES)
    for (const [path, [state, note]] of Object.entries(table)) assert.ok(state === 'honoured' || note !== '', path);
});
