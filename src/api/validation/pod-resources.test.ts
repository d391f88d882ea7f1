import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../field-error.ts';
import { validateResourceRequirements } from './pod-resources.ts';

const amounts = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`example.com/r${i}`, '1']));

function errorsOf(resources: object): string[] {
  const field = Field.named('resources');
  validateResourceRequirements(resources, new Set(), field);
  return field.errors.map((error) => `${error.field}: ${error.text}`);
}

test('a container asks for a thousand resources at most', () => {
  assert.deepEqual(errorsOf({ limits: amounts(1000), requests: amounts(1000) }), []);
  for (const part of ['limits', 'requests'])
    assert.deepEqual(errorsOf({ [part]: amounts(1001) }), [
      `resources.${part}: Too many: 1001: must have at most 1000 items`,
    ]);
});

test('each request is checked by its own name and beside its limit', () => {
  const resources = { limits: { cpu: '1', 'a b': '1' }, requests: { cpu: '2', memory: 'x' } };
  const found = errorsOf(resources).map((error) => error.split(':')[0]);
  assert.ok(found.includes('resources.limits[a b]'));
  assert.ok(found.includes('resources.requests'));
  assert.ok(found.includes('resources.requests[memory]'));
});
