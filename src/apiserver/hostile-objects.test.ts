// The cost of objects of hostile shapes for the event loop: counted where possible, never timed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseIp } from '../base/cidr.ts';
import { Field, invalidValue, MAX_FIELD_ERRORS } from '../api/field-error.ts';
import { JsonSyntaxError } from '../api/codec/json-parser.ts';
import { parseJson } from '../api/codec/json.ts';
import { checkParts, MAX_PARTS, parseClientJson, PartBudget, scanJson } from '../api/codec/parts.ts';
import { decodeProtobuf } from '../api/codec/protobuf.ts';
import { validateBySchema } from '../api/json-schema/validate.ts';
import { parseQuantity, QuantityError } from '../api/quantity.ts';
import { invalid, StatusError } from '../api/status-error.ts';

const tooLarge = (error: unknown): boolean => error instanceof StatusError && error.status.code === 413;

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}

function field(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
}

const text = (value: string): Buffer => Buffer.from(value);
const repeated = (part: Buffer): Buffer => Buffer.alloc(part.length * (MAX_PARTS + 1), part);

function envelope(kind: string, raw: Uint8Array): Buffer {
  const type = Buffer.concat([field(1, text('v1')), field(2, text(kind))]);
  return Buffer.concat([text('k8s\0'), field(1, type), field(2, raw)]);
}

const empty = Buffer.alloc(0);
const metadata = (rest: Buffer): Buffer => field(1, rest);
const podSpec = (rest: Buffer): Buffer => field(2, rest);
const container = (rest: Buffer): Buffer => podSpec(field(2, rest));

/** A field of two bytes makes an object with all its defaults. */
const bombs: Readonly<Record<string, readonly [kind: string, raw: Buffer]>> = {
  containers: ['Pod', podSpec(repeated(field(2, empty)))],
  volumes: ['Pod', podSpec(repeated(field(1, empty)))],
  tolerations: ['Pod', podSpec(repeated(field(22, empty)))],
  'node selector entries': ['Pod', podSpec(repeated(field(7, empty)))],
  'container ports': ['Pod', container(repeated(field(6, empty)))],
  'arguments of a container': ['Pod', container(repeated(field(4, empty)))],
  'resource limits': ['Pod', container(field(8, repeated(field(1, empty))))],
  'packed supplemental groups': ['Pod', podSpec(field(14, field(4, Buffer.alloc(MAX_PARTS + 1, 1))))],
  'config map data': ['ConfigMap', repeated(field(2, empty))],
  'owner references': ['ConfigMap', metadata(repeated(field(13, empty)))],
  finalizers: ['ConfigMap', metadata(repeated(field(14, empty)))],
  labels: ['ConfigMap', metadata(repeated(field(11, empty)))],
  'managed fields': ['ConfigMap', metadata(repeated(field(17, empty)))],
  'the same field': ['ConfigMap', repeated(metadata(empty))],
};

for (const [name, [kind, raw]] of Object.entries(bombs)) {
  test(`a protobuf body of too many parts is refused with 413: ${name}`, () => {
    const budget = new PartBudget();
    assert.throws(() => decodeProtobuf(envelope(kind, raw), { apiVersion: 'v1', kind, budget }), tooLarge);
  });
}

test('a JSON or YAML body of too many parts is refused with 413, whatever holds them', () => {
  const many = Array.from({ length: MAX_PARTS + 1 }, (_, i) => i);
  const shapes: unknown[] = [
    many,
    Object.fromEntries(many.map((i) => [i, 0])),
    { a: [{ b: many }] },
    many.slice(0, MAX_PARTS / 2).map((i) => [i]),
    many.slice(0, MAX_PARTS / 2).map((i) => ({ i })),
  ];
  for (const shape of shapes) assert.throws(() => checkParts([shape], JSON.stringify(shape).length), tooLarge);
  const ordinary = { data: Object.fromEntries(many.slice(0, MAX_PARTS / 5).map((i) => [i, 0])) };
  const small = Array.from({ length: 100 }, () => many.slice(0, 900));
  assert.doesNotThrow(() => checkParts(small, JSON.stringify(small).length));
  const wide = { data: Object.fromEntries(many.slice(0, MAX_PARTS / 3).map((i) => [i, 0])) };
  assert.throws(() => checkParts(wide, JSON.stringify(wide).length), tooLarge);
  assert.throws(() => scanJson(JSON.stringify(wide)), tooLarge);
  assert.equal(scanJson(JSON.stringify(small)), false);
  assert.doesNotThrow(() => checkParts(ordinary, JSON.stringify(ordinary).length));
  assert.doesNotThrow(() => checkParts({ csv: '1,'.repeat(1_000_000) }, 2_000_000));
});

test('too many parts and too much depth are seen before anything is parsed, strings aside', () => {
  const bombs = [
    '[],'.repeat(1_000_000),
    '{"a":1,'.repeat(900),
    '"a":"\\\\",'.repeat(200_000),
    `{${'"a":1,'.repeat(200_000)}`,
  ];
  for (const text of bombs.filter(({ length }) => length > 100_000))
    assert.throws(() => scanJson(text), tooLarge, text.slice(0, 10));
  for (const part of ['[', '{"a":', '[{"a":']) assert.equal(scanJson(part.repeat(100_000)), true);
  const strings = ['[{,'.repeat(100_000), '\\"[,'.repeat(100_000), `${'\\\\'.repeat(100_000)}`];
  for (const value of strings) assert.equal(scanJson(`{"a": "${value}", "b": ["]"]}`), false);
  assert.equal(scanJson(`{"a": "${'['.repeat(100_000)}`), false);
  assert.throws(() => parseClientJson('['.repeat(100_000)), { name: 'JsonSyntaxError', message: 'exceeded max depth' });
});

test('a field collects a bounded number of errors, and a response contains no more', () => {
  const place = Field.root();
  for (let index = 0; index < 5000; index++) {
    const item = place.at('items').item(index);
    item.required();
    item.invalid('', 'x');
    item.forbidden('x');
  }
  assert.equal(place.errors.length, MAX_FIELD_ERRORS);
  const all = Array.from({ length: 200_000 }, (_, i) => invalidValue(`a[${i}]`, i, 'x'));
  assert.equal(invalid({ group: '', kind: 'A' }, 'a', all).status.details?.causes?.length, MAX_FIELD_ERRORS);
});

test('a schema finds a bounded number of errors', () => {
  const value = Array.from({ length: 200_000 }, () => 1);
  const items = { type: 'string' };
  for (const schema of [{ items }, { items: { allOf: [items, items] } }, { allOf: [{ items }, { items }] }])
    assert.ok(validateBySchema({ type: 'array', ...schema }, value).length <= 3 * MAX_FIELD_ERRORS);
});

test('an address of millions of characters is none', () => {
  for (const part of ['0:', '0.', '0', ':']) assert.equal(parseIp(part.repeat(1_000_000)), undefined);
});

test('numbers of millions of digits are refused or read by their first digits', () => {
  const digits = '9'.repeat(2_000_000);
  for (const number of [digits, `-${digits}`, '1e400', `${digits}.5`])
    assert.throws(() => parseJson(`{"a":${number}}`), JsonSyntaxError);
  for (const quantity of [digits, `-${digits}`, `${digits}e-999`, `${digits}k`])
    assert.throws(() => parseQuantity(quantity), QuantityError, quantity.slice(-10));
  const largest = (2n ** 63n - 1n) * 1_000_000_000n;
  const cases: [string, bigint][] = [
    [`${digits}Ki`, largest],
    [`-${digits}Ei`, -largest],
    [`${'0'.repeat(2_000_000)}1`, 1_000_000_000n],
    [`0.${digits}`, 1_000_000_000n],
    [`0.${'0'.repeat(2_000_000)}1`, 1n],
    [`0.${'0'.repeat(2_000_000)}`, 0n],
    [`0.${'0'.repeat(900)}1${'0'.repeat(2000)}e900`, 100_000_000n],
  ];
  for (const [quantity, nanos] of cases) assert.equal(parseQuantity(quantity).nanos, nanos, quantity.slice(0, 20));
});

test('huge values and keys are truncated in errors, so that a thousand of them fit a response', () => {
  const huge = 'x'.repeat(1_000_000);
  const place = Field.root();
  for (let index = 0; index < 2000; index++) place.at('data').key(huge).item(index).invalid(huge, 'wrong');
  place.at('spec').invalid({ huge }, 'wrong');
  for (const { field, text } of place.errors) assert.ok(field.length + text.length < 20_000);
});
