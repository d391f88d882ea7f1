import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../field-error.ts';
import { validatePodResources, validateResourceRequirements } from './pod-resources.ts';

const amounts = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`example.com/r${i}`, '1']));

function errorsOf(resources: object): string[] {
  const field = Field.named('resources');
  validateResourceRequirements(resources, new Set(), field);
  return field.errors.map((error) => `${error.field}: ${error.text}`);
}

test('a container may request at most a thousand resources', () => {
  assert.deepEqual(errorsOf({ limits: amounts(1000), requests: amounts(1000) }), []);
  for (const part of ['limits', 'requests'])
    assert.deepEqual(errorsOf({ [part]: amounts(1001) }), [
      `resources.${part}: Too many: 1001: must have at most 1000 items`,
    ]);
});

test('each request is validated by its name and its limit', () => {
  const resources = { limits: { cpu: '1', 'a b': '1' }, requests: { cpu: '2', memory: 'x' } };
  const found = errorsOf(resources).map((error) => error.split(':')[0]);
  assert.ok(found.includes('resources.limits[a b]'));
  assert.ok(found.includes('resources.requests'));
  assert.ok(found.includes('resources.requests[memory]'));
});

test('each container is visited a few times, however many pod-level resources there are', () => {
  let reads = 0;
  const limits = Object.fromEntries(Array.from({ length: 200 }, (_, size) => [`hugepages-${size + 1}`, '0']));
  const containers = Array.from({ length: 100 }, (_, at) =>
    Object.defineProperty({ name: `c${at}` }, 'resources', { get: () => (reads++, { limits }) }),
  );
  const field = Field.named('resources');
  validatePodResources(
    {
      containers: containers.slice(50),
      initContainers: containers.slice(0, 50),
      resources: { limits, requests: limits },
    },
    new Set(),
    field,
  );
  assert.ok(reads <= 400, `${reads} reads`);
});
