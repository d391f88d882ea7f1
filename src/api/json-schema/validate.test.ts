import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allSteps } from '../../base/steps.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { hasFormat } from './formats.ts';
import { objectRuleSteps } from './object-rules.ts';
import { validateBySchema } from './validate.ts';

function texts(schema: JSONSchemaProps, value: unknown, old?: { value: unknown }): string[] {
  const root: JSONSchemaProps = { type: 'object', properties: { x: schema } };
  const before = old === undefined ? undefined : { value: { x: old.value } };
  return validateBySchema(root, { x: value }, before).map(({ field, text }) => `${field}: ${text}`);
}

const cases: [string, JSONSchemaProps, unknown, string[]][] = [
  ['a fitting value', { type: 'string', minLength: 1 }, 'a', []],
  ['type', { type: 'integer' }, 'a', ['x: Invalid value: "string": x in body must be of type integer: "string"']],
  [
    'a fraction is no integer',
    { type: 'integer' },
    1.5,
    [
      'x: Invalid value: "number": x in body must be of type integer: "number"',
      '<nil>: Invalid value: "": Checked value must be of type integer (default format) in x',
    ],
  ],
  ['an integer is a number', { type: 'number' }, 1, []],
  ['null', { type: 'string' }, null, ['x: Invalid value: "null": x in body must be of type string: "null"']],
  ['nullable', { type: 'string', nullable: true }, null, []],
  [
    'int or string',
    { 'x-kubernetes-int-or-string': true },
    true,
    ['x: Invalid value: "boolean": x in body must be of type integer,string: "boolean"'],
  ],
  ['enum', { type: 'string', enum: ['a', 'b'] }, 'c', ['x: Unsupported value: "c": supported values: "a", "b"']],
  ['enum of numbers', { enum: [1, 2] }, 2, []],
  [
    'maximum',
    { type: 'integer', maximum: 10 },
    11,
    ['x: Invalid value: 11: x in body should be less than or equal to 10'],
  ],
  [
    'exclusive maximum',
    { maximum: 10, exclusiveMaximum: true },
    10,
    ['x: Invalid value: 10: x in body should be less than 10'],
  ],
  ['minimum', { minimum: 1 }, 0, ['x: Invalid value: 0: x in body should be greater than or equal to 1']],
  ['multipleOf', { multipleOf: 5 }, 7, ['x: Invalid value: 7: x in body should be a multiple of 5']],
  ['a decimal multiple', { multipleOf: 0.1 }, 0.3, []],
  ['maxLength counts characters', { maxLength: 2 }, '😀😀', []],
  ['maxLength', { maxLength: 2 }, 'abc', ['x: Too long: may not be more than 2 bytes']],
  ['minLength', { minLength: 3 }, 'ab', ['x: Invalid value: "ab": x in body should be at least 3 chars long']],
  ['pattern', { pattern: '^a+$' }, 'b', ['x: Invalid value: "b": x in body should match \'^a+$\'']],
  ['format', { format: 'ipv4' }, '::1', ['x: Invalid value: "::1": x in body must be of type ipv4: "::1"']],
  ['an unknown format', { format: 'nope' }, 'x', []],
  ['maxItems', { maxItems: 1 }, [1, 2], ['x: Too many: 2: must have at most 1 item']],
  ['minItems', { minItems: 1 }, [], ['x: Invalid value: 0: x in body should have at least 1 items']],
  [
    'items',
    { type: 'array', items: { type: 'string' } },
    ['a', 1],
    ['x[1]: Invalid value: "integer": x[1] in body must be of type string: "integer"'],
  ],
  ['maxProperties', { maxProperties: 1 }, { a: 1, b: 2 }, ['x: Too many: 2: must have at most 1 item']],
  ['required', { required: ['a'] }, {}, ['x.a: Required value']],
  [
    'additionalProperties',
    { additionalProperties: { type: 'string' } },
    { k: 1 },
    ['x.k: Invalid value: "integer": x.k in body must be of type string: "integer"'],
  ],
  [
    'oneOf',
    { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    { a: 1, b: 2 },
    ['<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
  ],
  [
    'anyOf',
    { anyOf: [{ required: ['a'] }] },
    {},
    ['<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)', 'x.a: Required value'],
  ],
  ['not', { not: { required: ['a'] } }, { a: 1 }, ['<nil>: Invalid value: "": "x" must not validate the schema (not)']],
  [
    'beyond int32',
    { type: 'integer', format: 'int32' },
    2 ** 31,
    ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x'],
  ],
  [
    'beyond float',
    { type: 'number', format: 'float' },
    1e39,
    ['<nil>: Invalid value: "": Checked value must be of type number with format float in x'],
  ],
  ['unsigned formats are not known', { type: 'integer', format: 'uint32' }, -1, []],
  [
    'a fractional bound of integers',
    { type: 'integer', format: 'int32', maximum: 1.5, minimum: 0.5 },
    1,
    [
      '<nil>: Invalid value: "": Minimum boundary value must be of type integer with format int32 in x',
      '<nil>: Invalid value: "": Maximum boundary value must be of type integer with format int32 in x',
    ],
  ],
  [
    'a boolean where a format is',
    { type: 'integer', format: 'int32' },
    true,
    ['x: Invalid value: "": x in body must be of type int32: ""'],
  ],
  [
    'an integer where a format of texts is',
    { type: 'string', format: 'date-time' },
    1,
    ['x: Invalid value: "int64": x in body must be of type date-time: "int64"'],
  ],
  [
    'a text where a format of integers is',
    { type: 'integer', format: 'int64' },
    'a',
    ['x: Invalid value: "string": x in body must be of type integer: "string"'],
  ],
  ['a list where a format of texts is', { type: 'string', format: 'date' }, ['a'], []],
  [
    'of length and pattern the first that does not fit',
    { type: 'string', minLength: 1, pattern: '^a' },
    '',
    ['x: Invalid value: "": x in body should be at least 1 chars long'],
  ],
  [
    'of alternatives the first, however many fields it misses',
    { oneOf: [{ required: ['a', 'b'] }, { required: ['c'] }] },
    {},
    [
      '<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid',
      'x.a: Required value',
      'x.b: Required value',
    ],
  ],
  [
    'of alternatives the one that checks more',
    {
      anyOf: [
        { required: ['b'], properties: { b: { minLength: 1 } } },
        { required: ['b'], properties: { a: { enum: ['x'] } } },
      ],
    },
    { a: 'y' },
    [
      '<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)',
      'x.a: Unsupported value: "y": supported values: "x"',
      'x.b: Required value',
    ],
  ],
  [
    'an error of two parts once',
    { allOf: [{ required: ['a'] }, { required: ['a'] }] },
    {},
    ['x.a: Required value', '<nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated'],
  ],
];

for (const [name, schema, value, expected] of cases) test(name, () => assert.deepEqual(texts(schema, value), expected));

test('values that an update leaves unchanged are not validated again', () => {
  const schema: JSONSchemaProps = { type: 'object', properties: { a: { maxLength: 1 }, b: { maxLength: 1 } } };
  assert.deepEqual(texts(schema, { a: 'long', b: 'x' }, { value: { a: 'long', b: 'y' } }), []);
  assert.equal(texts(schema, { a: 'longer', b: 'x' }, { value: { a: 'long', b: 'y' } }).length, 1);
  const list: JSONSchemaProps = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
    items: { type: 'object', properties: { k: { type: 'string' }, v: { maxLength: 1 } } },
  };
  const old = [{ k: 'a', v: 'long' }];
  assert.deepEqual(
    texts(
      list,
      [
        { k: 'b', v: 'x' },
        { k: 'a', v: 'long', w: 1 },
      ],
      { value: old },
    ),
    [],
  );
});

test('sets, maps and embedded resources are validated', () => {
  const schema: JSONSchemaProps = {
    type: 'object',
    properties: {
      set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      map: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name', 'port'],
        items: { type: 'object', properties: { name: { type: 'string' }, port: { type: 'integer', default: 80 } } },
      },
      template: { type: 'object', 'x-kubernetes-embedded-resource': true },
    },
  };
  const value = {
    set: ['a', 'b', 'a'],
    map: [{ name: 'a' }, { name: 'a', port: 80 }, { name: 'a', port: 81 }],
    template: { kind: 'A b', metadata: { labels: { 'a b': '' } } },
  };
  const found = allSteps(objectRuleSteps(schema, value)).map(({ field, text }) => `${field}: ${text.slice(0, 40)}`);
  assert.deepEqual(found, [
    'set[2]: Duplicate value: "a"',
    'map[1]: Duplicate value: {"name":"a","port":80}',
    'template.apiVersion: Required value',
    'template.kind: Invalid value: "A b": may have mixed cas',
    'template.metadata.labels: Invalid value: "a b": name part must con',
  ]);
});

const formats: [string, string, boolean][] = [
  ['date-time', '2026-01-01T00:00:00Z', true],
  ['date-time', '2026-02-30T00:00:00Z', false],
  ['date', '2024-02-29', true],
  ['duration', '1h30m', true],
  ['duration', '3 days', true],
  ['duration', 'soon', false],
  ['email', 'a@b.c', true],
  ['uuid', 'not', false],
  ['uri', 'https://a/b', true],
  ['uri', 'a b', false],
  ['hostname', 'a.example.com', true],
  ['cidr', '10.0.0.0/8', true],
  ['mac', '01:23:45:67:89:ab', true],
  ['byte', 'aGk=', true],
  ['isbn13', '978-3-16-148410-0', true],
  ['creditcard', '4111 1111 1111 1111', true],
];
for (const [format, text, expected] of formats)
  test(`${format} ${text}`, () => assert.equal(hasFormat(format, text), expected));
