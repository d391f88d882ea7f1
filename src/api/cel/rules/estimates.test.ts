/** Rules of the kind widely used definitions have must pass the estimates; what is truly dear must not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../../field-error.ts';
import type { JSONSchemaProps } from '../../gen/apiextensions-v1.ts';
import { checkRules } from './check-rules.ts';
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
  properties: { a: { type: 'string' }, b: { type: 'string' }, name: { type: 'string', maxLength: 63 } },
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
