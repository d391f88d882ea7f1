import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../../field-error.ts';
import type { JSONSchemaProps, ValidationRule } from '../../gen/apiextensions-v1.ts';
import { compileRuleSchema, compileRuleSteps } from './rule-schema.ts';
import { complaints, crd, integer, object, text } from './rules-fixture.ts';
import { ruleSteps } from './validate-rules.ts';

test('definitions with bad rules are refused', () => {
  const base = 'spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]';
  const shown = (rule: string, more: object = {}): string =>
    JSON.stringify({
      Rule: rule,
      Message: '',
      MessageExpression: '',
      Reason: null,
      FieldPath: '',
      OptionalOldSelf: null,
      ...more,
    });
  const cases: readonly [ValidationRule, string[]][] = [
    [{ rule: 'self.min > 1' }, []],
    [{ rule: '' }, [`${base}.rule: Required value: rule is not specified`]],
    [
      { rule: 'self.nope > 1' },
      [
        `${base}.rule: Invalid value: ${shown('self.nope > 1')}: compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n | self.nope > 1\n | ....^`,
      ],
    ],
    [
      { rule: 'self.min' },
      [`${base}.rule: Invalid value: ${shown('self.min')}: cel expression must evaluate to a bool`],
    ],
    [
      { rule: 'true', messageExpression: '1' },
      [
        `${base}.messageExpression: Invalid value: ${shown('true', { MessageExpression: '1' })}: messageExpression must evaluate to a string`,
      ],
    ],
    [
      { rule: 'true', reason: 'Nope' },
      [
        `${base}.reason: Unsupported value: "Nope": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
      ],
    ],
    [{ rule: 'true', fieldPath: '.nope' }, [`${base}.fieldPath: Invalid value: ".nope": must be a valid path`]],
    [
      { rule: 'true', optionalOldSelf: true },
      [`${base}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`],
    ],
  ];
  for (const [rule, wanted] of cases)
    assert.deepEqual(complaints(crd(object({ min: integer }, rule))), wanted, JSON.stringify(rule));
});

test('definitions with unbounded costs or uncorrelatable transitions are refused', () => {
  const nested = 'self.all(a, self.all(b, a != b))';
  const list = (more: JSONSchemaProps, rule: string): JSONSchemaProps =>
    crd({ type: 'array', items: text, 'x-kubernetes-validations': [{ rule }], ...more });
  const path = 'spec.validation.openAPIV3Schema.properties[spec]';
  assert.match(
    complaints(list({}, nested))[0] ?? '',
    /rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x \(try/,
  );
  assert.deepEqual(complaints(list({ maxItems: 10, items: { ...text, maxLength: 20 } }, nested)), []);
  const items = {
    ...text,
    'x-kubernetes-validations': [{ rule: 'self == oldSelf' }],
    maxLength: 5,
  };
  assert.deepEqual(complaints(crd({ type: 'array', maxItems: 5, items })), [
    `${path}.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${path}`,
  ]);
});

test('rules of many items are checked in steps', () => {
  const items = {
    type: 'array',
    items: { ...text, 'x-kubernetes-validations': [{ rule: "self != 'a'" }] },
  };
  const compiled = compileRuleSchema(crd({ type: 'object', properties: { items } }));
  const count = (length: number): number => {
    const value = { spec: { items: Array(length).fill('b') as string[] } };
    return [...ruleSteps(compiled, { value }, Field.root())].length;
  };
  assert.equal(count(10), 0);
  assert.ok(count(20_000) > 20);
});

test('many rules are compiled in steps, and share a limit', () => {
  const long = Array.from({ length: 1000 }, (_, i) => `self.a != "${i}"`).join(' && ');
  const schema = object({ a: text }, ...Array.from({ length: 60 }, () => long));
  const steps = compileRuleSteps(schema);
  let count = 0;
  let compiled = steps.next();
  for (; compiled.done !== true; compiled = steps.next()) count++;
  assert.ok(count > 40, String(count));
  const errors = compiled.value.rules.map(({ error }) => error);
  assert.equal(errors[0], undefined);
  assert.match(errors.at(-1)!, /compiling takes too much work/);
});

test('rules of a schema with a fault at or below its path are not checked; those beside it are', () => {
  const bad: JSONSchemaProps = { type: 'string', 'x-kubernetes-validations': [{ rule: 'nope' }] };
  const faulty: JSONSchemaProps = { ...bad, uniqueItems: true };
  const found = complaints({
    type: 'object',
    properties: { a: faulty, ab: bad, 'a.b': bad, b: object({ inner: { type: 'string', uniqueItems: true } }, 'nope') },
  });
  const places = found.map((line) => /properties\[(.*?)\]\S*?(?:uniqueItems|rule)(?=:)/.exec(line)?.[0]);
  assert.deepEqual(places.toSorted(), [
    'properties[a.b].x-kubernetes-validations[0].rule',
    'properties[a].uniqueItems',
    'properties[ab].x-kubernetes-validations[0].rule',
    'properties[b].properties[inner].uniqueItems',
  ]);
});
