import assert from 'node:assert/strict';
import { test } from 'node:test';
import { typeSchema } from '../../api/schema/schema.ts';
import type { StructSchema, TypeSchema } from '../../api/schema/type-schema.ts';
import { POD_FIELD_TABLES } from './document.ts';

/** Paths of all values that are no objects themselves. */
function leaves(struct: StructSchema, prefix: string): string[] {
  return [...struct.fields].flatMap(([name, { type }]) => {
    let path = `${prefix}${name}`;
    let value: TypeSchema = type;
    for (;;) {
      if (value.kind === 'list') [path, value] = [`${path}[]`, value.items];
      else if (value.kind === 'map') [path, value] = [`${path}{}`, value.values];
      else break;
    }
    return value.kind === 'struct' && value.fields.size > 0 ? leaves(value, `${path}.`) : [path];
  });
}

function isBelow(path: string, row: string): boolean {
  return path === row || ['.', '[', '{'].some((next) => path.startsWith(`${row}${next}`));
}

const rows = POD_FIELD_TABLES.flatMap(({ prefixes, rows: table }) =>
  prefixes.flatMap((prefix) => Object.keys(table).map((path) => `${prefix}${path}`)),
);
const fields = leaves(typeSchema('core.v1.PodSpec') as StructSchema, '');

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

test('what is not simply honoured says how', () => {
  for (const { rows: table } of POD_FIELD_TABLES)
    for (const [path, [state, note]] of Object.entries(table)) assert.ok(state === 'honoured' || note !== '', path);
});
