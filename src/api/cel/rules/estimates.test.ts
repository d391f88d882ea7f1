/** Estimates equal upstream's. Rules like those of widely used definitions must pass, and expensive ones must not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../../field-error.ts';
import type { JSONSchemaProps } from '../../gen/apiextensions-v1.ts';
import { checkRules } from './check-rules.ts';
import { estimateCost } from '../cost/estimate.ts';
import { sizeBelow } from './size.ts';
import { ESTIMATE_SCHEMA, ESTIMATES } from './estimates-fixture.ts';
import { compileRuleSchema } from './rule-schema.ts';

function faults(props: JSONSchemaProps): string[] {
  const field = Field.root();
  checkRules(compileRuleSchema({ type: 'object', properties: { x: props } }), field);
  return field.errors.map(({ text }) => text.slice(0, 40));
}

function list(items: JSONSchemaProps, more: Partial<JSONSchemaProps> = {}): JSONSchemaProps {
  return { type: 'array', items, ...more };
}

function withRule(props: JSONSchemaProps, rule: string): JSONSchemaProps {
  return { ...props, 'x-kubernetes-validations': [{ rule }] };
}

const pair: JSONSchemaProps = {
  type: 'object',
  properties: {
    a: { type: 'string' },
    b: { type: 'string' },
    name: { type: 'string', maxLength: 63 },
  },
};

const cases: [string, JSONSchemaProps, string[]][] = [
  ['lists without limits, one in another', list(list(withRule(pair, '!has(self.a) || has(self.b)'))), []],
  [
    'durations in a short list',
    list(
      withRule(
        pair,
        "!(has(self.a) && has(self.b) && duration(self.a) != duration('0s') && duration(self.b) > duration(self.a))",
      ),
      { maxItems: 16 },
    ),
    [],
  ],
  [
    'every item against every other',
    withRule(list(pair, { maxItems: 16 }), 'self.all(p, self.exists_one(q, p.name == q.name))'),
    [],
  ],
  ['counting by filter', withRule(pair, '[has(self.a), has(self.b)].filter(x, x == true).size() <= 1'), []],
  [
    'every item of a long list against every other',
    withRule(list(pair), 'self.all(p, self.exists_one(q, p.name == q.name))'),
    ['Forbidden: estimated rule cost exceeds bu', 'Forbidden: contributed to estimated rule '],
  ],
];

for (const [name, props, expected] of cases)
  test(name, () => {
    const found = faults(props);
    assert.deepEqual(
      found.slice(0, expected.length).map((text) => text.slice(0, 40)),
      expected.map((text) => text.slice(0, 40)),
    );
    if (expected.length === 0) assert.deepEqual(found, []);
  });

test("the estimate of every rule equals that of upstream's estimator", () => {
  const differing: string[] = [];
  for (const line of ESTIMATES.trim().split('\n')) {
    const [expected = '', rule] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
    const schema = compileRuleSchema(withRule(ESTIMATE_SCHEMA, rule));
    const [compiled] = schema.rules;
    const { program } = compiled ?? {};
    const cost = program === undefined ? Number.NaN : estimateCost(program.tree, sizeBelow(schema.size)).max;
    // Upstream's integers beyond 2^53 do not fit into a number, so they are compared approximately.
    if (!(Math.abs(cost - Number(expected)) <= Number(expected) * 2 ** -50))
      differing.push(`${rule}: ${cost}, not ${expected} ${compiled?.error ?? ''}`);
  }
  assert.deepEqual(differing, []);
});

test('a dot before a name changes no estimate', () => {
  const max = (rule: string): number | undefined => {
    const schema = compileRuleSchema(withRule(ESTIMATE_SCHEMA, rule));
    const tree = schema.rules[0]?.program?.tree;
    return tree && estimateCost(tree, sizeBelow(schema.size)).max;
  };
  const rule = 'self.l10.all(x, x in oldSelf.l10)';
  assert.equal(max(rule), 163);
  assert.equal(max('.self.l10.all(x, .x in .oldSelf.l10)'), 163);
});

const texts: JSONSchemaProps = {
  type: 'object',
  properties: { a: { type: 'string' }, b: { type: 'string' } },
};

test('rules of real projects are within the limits', () => {
  const eitherOr = '(has(self.a) && !has(self.b)) || (!has(self.a) && has(self.b))';
  const key = 'self.all(key, size(key) < 63 && key.matches("^[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?$"))';
  const map: JSONSchemaProps = {
    type: 'object',
    maxProperties: 128,
    additionalProperties: { type: 'integer' },
  };
  const ofMaps: JSONSchemaProps = { type: 'object', properties: { p: withRule(map, key) } };
  assert.deepEqual(faults(list(withRule(texts, eitherOr))), []);
  assert.deepEqual(faults(withRule(list(texts, { maxItems: 50 }), 'self.all(x, has(x.a) == has(x.b))')), []);
  assert.deepEqual(faults(list(ofMaps, { maxItems: 4096 })), []);
  const optional = 'size(self) == 0 || format.dns1123Label().validate(self) == null';
  assert.deepEqual(faults(withRule({ type: 'string', maxLength: 20 }, optional)), []);
});

const nullable = [
  'optional.of(self)',
  'optional.none()',
  "timestamp('2020-01-01T00:00:00Z')",
  "duration('1s')",
  "quantity('1')",
  "ip('10.0.0.1')",
  "cidr('10.0.0.0/8')",
  "url('http://a')",
  "semver('1.2.3')",
  'format.dns1123Label()',
];
const notNullable = ["'a'", '1', '1u', '1.5', 'true', "b'a'", "['a']", "{'a': 1}", 'type(self)'];

test('optionals, times and opaque types can be compared with null; scalars, lists and maps cannot', () => {
  const fault = (rule: string): boolean => faults(withRule({ type: 'string', maxLength: 5 }, rule)).length > 0;
  for (const value of nullable)
    assert.deepEqual([`${value} == null`, `null != ${value}`].filter(fault), [], `${value} compares`);
  for (const value of notNullable) assert.ok(fault(`${value} == null`), `${value} does not compare`);
});
