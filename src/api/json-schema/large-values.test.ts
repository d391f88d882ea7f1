// Values of many parts and schemas of many alternatives are validated in steps, in time proportional to both.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Steps } from '../../base/steps.ts';
import { DefaultsBudget, applySchemaDefaults } from '../codec/prune.ts';
import { MAX_PARTS } from '../codec/parts.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { structuralSchema } from '../schema/structural.ts';
import { invalid } from '../status-error.ts';
import { correlatedItem } from './correlate.ts';
import { objectRuleSteps } from './object-rules.ts';
import { validateBySchema, validationSteps } from './validate.ts';

function countSteps<T>(steps: Steps<T>): { count: number; result: T } {
  for (let count = 1; ; count++) {
    const { done, value } = steps.next();
    if (done === true) return { count, result: value };
  }
}

const MANY = 20_000;
const listOf = (items: JSONSchemaProps, more: object = {}): JSONSchemaProps => ({ type: 'array', items, ...more });
const texts = (count: number): string[] => Array.from({ length: count }, (_, i) => `v${i}`);
const oneText: JSONSchemaProps = { type: 'string', enum: ['b'] as never };

const shapes: Readonly<Record<string, readonly [JSONSchemaProps, unknown, steps: number]>> = {
  'one item': [listOf({ type: 'string' }), ['a'], 1],
  items: [listOf({ type: 'string' }), texts(MANY), 100],
  'items with alternatives': [
    listOf({ anyOf: [...texts(49).map((one) => ({ enum: [one] }) as never), { type: 'string' }] }),
    texts(2000).map(() => 'x'),
    500,
  ],
  'a list in each alternative': [{ oneOf: [listOf(oneText), listOf({ type: 'string' })] }, texts(MANY), 200],
  entries: [
    { type: 'object', additionalProperties: { type: 'object', properties: { a: { type: 'string' } } } },
    Object.fromEntries(texts(MANY).map((key) => [key, { a: '' }])),
    200,
  ],
};

for (const [name, [schema, value, steps]] of Object.entries(shapes)) {
  test(`the validation of ${name} has steps`, () => {
    const { count, result } = countSteps(validationSteps(schema, value));
    assert.ok(steps === 1 ? count === 1 : count >= steps, `${count} steps`);
    assert.deepEqual(result, validateBySchema(schema, value));
  });
}

test('the response to many errors that quote a large enumeration has a bounded length', () => {
  const schema = listOf({ type: 'string', enum: texts(5000) as never });
  const { count, result } = countSteps(validationSteps(schema, Array(MANY).fill('none')));
  assert.ok(count > 5);
  assert.equal(result.length, 1000);
  assert.match(result[0]!.text, /^Unsupported value: "none": supported values: "v0", .*"v4999"$/);
  const { status } = invalid({ group: '', kind: 'A' }, 'a', result);
  assert.ok(JSON.stringify(status).length < 2_000_000);
  assert.ok(status.details!.causes!.length > 5);
});

test('a single error is shown whole, however long it is', () => {
  const text = 'x'.repeat(2_000_000);
  const { status } = invalid({ group: '', kind: 'A' }, 'a', [{ reason: 'FieldValueInvalid', field: 'a', text }]);
  assert.equal(status.details!.causes!.length, 1);
});

const listTypes: Readonly<Record<string, object>> = {
  map: { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name', 'port'] },
  set: { 'x-kubernetes-list-type': 'set' },
  atomic: {},
};

for (const [name, more] of Object.entries(listTypes)) {
  test(`items of long and short lists of type ${name} are found alike`, () => {
    const properties = { name: { type: 'string' }, port: { type: 'integer', default: 80 as never } };
    const schema = listOf({ type: 'object', properties }, more);
    const old = texts(10).map((one, i) => ({ name: one, port: i % 2 === 0 ? 80 : 81, x: [i] }));
    const filler = Array.from({ length: 100 }, (_, i) => ({ name: `filler${i}`, port: 1n }));
    const asked = [
      ...old.map((item) => structuredClone(item)),
      ...old.map(({ name: text, x }) => ({ x, name: text })),
      ...old.map((item) => ({ ...item, x: [-1] })),
      { name: 'other' },
      {},
      'v1',
      null,
    ];
    for (const item of asked)
      assert.equal(
        correlatedItem(schema, [...old, ...filler], item),
        correlatedItem(schema, old, item),
        JSON.stringify(item),
      );
    assert.equal(correlatedItem(schema, [...filler, ...old], { name: 'filler7', port: 1n }), filler[7]);
  });

  test(`each old item of a long list of type ${name} is read a few times, not once for each new one`, () => {
    let reads = 0;
    const old = texts(1000).map((one) => ({
      get name() {
        reads++;
        return one;
      },
    }));
    const schema = listOf({ type: 'object', properties: { name: { type: 'string' } } }, more);
    const found = texts(1000).map((one) => correlatedItem(schema, old, { name: one }));
    assert.deepEqual(
      found.map((item) => old.indexOf(item as never)),
      [...old.keys()],
    );
    assert.ok(reads < 5000, `${reads} reads`);
  });
}

test('items of thousands of fields are matched with old ones in steps', () => {
  const free: JSONSchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const withSet = { ...free, properties: { names: listOf({ type: 'string' }, { 'x-kubernetes-list-type': 'set' }) } };
  const large = (from: number): object[] =>
    Array.from({ length: 60 }, (_, at) => Object.fromEntries(texts(1000).map((key) => [key, `${from + at}`])));
  for (const count of [60, 20]) {
    const [value, old] = [large(0).slice(0, count), large(1000).slice(0, count)];
    assert.ok(countSteps(validationSteps(listOf(free), value, { value: old })).count > count / 4);
    assert.ok(countSteps(objectRuleSteps(listOf(withSet), value, old)).count > count / 8);
    assert.equal(countSteps(objectRuleSteps(listOf(free), value, old)).count, 1, 'no rule is below');
  }
});

test('a difference at the bottom of a deep value is compared with the old value once', () => {
  const [depth, width] = [100, 100];
  let reads = 0;
  const counted = (last: number): object => {
    const value = Object.fromEntries(texts(width).map((key) => [key, 0])) as Record<string, unknown>;
    return Object.defineProperty(value, 'last', { enumerable: true, get: () => (reads++, last) });
  };
  const nest = (value: object): object => texts(depth).reduce((inner) => ({ inner }), value);
  let schema: JSONSchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  for (const _level of texts(depth)) schema = { type: 'object', properties: { inner: schema } };
  validateBySchema(schema, nest(counted(1)), { value: nest(counted(2)) });
  assert.ok(reads < 10, `${reads} reads`);
});

test('defaults that would make an object huge are refused, or left out when a stored object is read', () => {
  const fields = Object.fromEntries(texts(100).map((key) => [key, { type: 'string', default: 'd' as never }]));
  const holder = {
    type: 'object',
    default: { list: texts(50) } as never,
    properties: { list: listOf({ type: 'string' }) },
  };
  const schema = structuralSchema(
    { type: 'object', properties: { items: listOf({ type: 'object', properties: { ...fields, holder } }) } },
    { group: 'g', version: 'v1', kind: 'A' } as never,
  );
  const items = (count: number): object => ({ items: Array.from({ length: count }, () => ({})) });
  const filled = applySchemaDefaults(schema, items(600)) as { items: object[] };
  assert.equal(Object.keys(filled.items[599]!).length, 101);
  assert.throws(() => applySchemaDefaults(schema, items(700)), /limit is 100000 .* in the defaults of one object/);
  const read = applySchemaDefaults(schema, items(5000), new DefaultsBudget(false));
  const parts = JSON.stringify(read).split(',').length;
  assert.ok(parts > MAX_PARTS / 2 && parts < MAX_PARTS + 10_000, `${parts} parts`);
});
