/** Changes that are made to produce a long answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldChanges } from './field-changes.ts';

const long = 'k'.repeat(440_000);
const many = (value: unknown): object =>
  Object.fromEntries(Array.from({ length: 14_000 }, (_, index) => [`k${index}`, value]));

test('long names make no long paths, wherever they stand', () => {
  const states: readonly ((value: unknown) => object)[] = [
    (value) => ({ spec: { [long]: many(value) } }),
    (value) => ({ spec: { [`${long} "`]: many(value) } }),
    (value) => ({ spec: [{ name: long, of: many(value) }] }),
    (value) => ({
      spec: Object.entries(many(value)).map(([name, of]) => ({ name: `${name}${long.slice(0, 1000)}`, of })),
    }),
    (value) => ({ spec: { a: `${long}${String(value)}`, ...many(`${String(value)}${long.slice(0, 100)}`) } }),
    (value) =>
      Array<string>(500)
        .fill('a'.repeat(150))
        .reduce<object>((of, name) => ({ [name]: of }), many(value)),
  ];
  for (const [index, state] of states.entries()) {
    const { fields, count } = fieldChanges(state(1), state(2), { hidesValues: false });
    assert.ok(count >= 14_000 && fields.length === 100, `state ${index}: ${count}`);
    for (const { path, from = '', to = '' } of fields)
      assert.ok(path.length <= 1001 && from.length <= 81 && to.length <= 81, `state ${index}: ${path.length}`);
  }
});

test('all revisions of an answer share its size limit', () => {
  const room = { characters: 1000 };
  const told = [1, 2, 3, 4].map((value) => fieldChanges(many(value), many(-value), { hidesValues: false, room }));
  assert.ok(told[0]!.fields.length === 100 && told.at(-1)!.fields.length === 0);
  for (const { count } of told) assert.equal(count, 14_000, 'all are counted');
  const characters = told.flatMap(({ fields }) => fields).reduce((sum, { path }) => sum + path.length, 0);
  assert.ok(characters <= 1000);
});

test('the bookkeeping of metadata is left out, and nothing else of these names', () => {
  const state = (value: number) => ({
    metadata: { generation: value, managedFields: [value], resourceVersion: value, labels: { generation: value } },
    spec: { generation: value, metadata: { generation: value } },
    generation: value,
  });
  assert.deepEqual(
    fieldChanges(state(1), state(2), { hidesValues: false }).fields.map(({ path }) => path),
    ['metadata.labels.generation', 'spec.generation', 'spec.metadata.generation', 'generation'],
  );
});
