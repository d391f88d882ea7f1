import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allSteps } from '../../base/steps.ts';
import { policyExpressions } from './admission-expressions.ts';
import { Field } from '../field-error.ts';
import type { CustomResourceDefinition, JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { MAX_PATTERN_SIZE, MAX_RULE_LENGTH, MAX_RULES, validateDefinitionBudget } from './definition-budget.ts';

const rule = { rule: 'true' };
const rules = (count: number): JSONSchemaProps => ({
  'x-kubernetes-validations': Array<typeof rule>(count).fill(rule),
});
const patterns = (count: number, size: number): JSONSchemaProps => ({
  properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, { pattern: `p${i}a{${size}}` }])),
});

function texts(...schemas: JSONSchemaProps[]): string[] {
  const versions = schemas.map((openAPIV3Schema, i) => ({
    name: `v${i}`,
    served: true,
    storage: i === 0,
    schema: { openAPIV3Schema },
  }));
  const field = Field.named('spec.versions');
  const fits = validateDefinitionBudget({ spec: { versions } } as unknown as CustomResourceDefinition, field);
  assert.equal(fits, field.errors.length === 0);
  return field.errors.map(({ text }) => text);
}

const tooManyRules = [`Forbidden: must have at most ${MAX_RULES} validation rules`];
const half = rules(MAX_RULES / 2 + 1);

test('the number of rules of a definition is limited, in all versions together', () => {
  assert.deepEqual(texts(rules(MAX_RULES)), []);
  const places: JSONSchemaProps[] = [
    rules(MAX_RULES + 1),
    { ...half, properties: { a: half } },
    { ...half, items: half },
    { ...half, items: [half] as unknown as JSONSchemaProps },
    { ...half, additionalProperties: half },
    { ...half, not: half },
    { allOf: [half], anyOf: [half] },
    { oneOf: [half, half] },
  ];
  for (const schema of places) assert.deepEqual(texts(schema), tooManyRules);
  assert.deepEqual(texts(half, half), tooManyRules);
});

test('the texts of rules and the programs of patterns are limited', () => {
  const long = { 'x-kubernetes-validations': [{ rule: 'a'.repeat(MAX_RULE_LENGTH) }] };
  assert.deepEqual(texts(long), []);
  assert.equal(texts(long, rules(1)).length, 1);
  assert.deepEqual(texts(patterns(50, 1000)), []);
  assert.equal(texts(patterns(MAX_PATTERN_SIZE / 1000, 1000)).length, 1);
  const same = Array<JSONSchemaProps>(1000).fill({ pattern: 'a{1000}' });
  assert.deepEqual(texts({ allOf: same }), []);
});

test('policies with thousands of expressions, or very long ones, are refused before they are compiled', () => {
  const errorsOf = (validations: { expression: string }[]): string[] => {
    const field = Field.root();
    allSteps(policyExpressions({ validations }, field));
    return field.errors.map(({ text }) => text);
  };
  const many = (count: number, length: number): { expression: string }[] =>
    Array.from({ length: count }, (_, i) => ({ expression: `object.metadata.name != '${i}${'x'.repeat(length)}'` }));
  assert.deepEqual(errorsOf(many(1000, 10)), []);
  assert.deepEqual(errorsOf(many(1001, 10)), ['Forbidden: must have at most 1000 expressions']);
  assert.deepEqual(errorsOf(many(30, 9000)), ['Forbidden: must have at most 262144 characters of expressions']);
});
