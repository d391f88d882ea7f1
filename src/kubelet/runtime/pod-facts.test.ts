import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countSteps } from '../../base/count-steps-fixture.ts';
import { findContainer } from './pod-facts.ts';
import { podOf } from './runtime-fixture.ts';

test('containers of every kind are found by name', () => {
  const one = (name: string): { name: string; image: string } => ({ name, image: 'i' });
  const pod = podOf({ containers: [one('c')], initContainers: [one('i')], ephemeralContainers: [one('e')] });
  assert.deepEqual(
    ['c', 'i', 'e', 'constructor'].map((name) => findContainer(pod, name)?.name),
    ['c', 'i', 'e', undefined],
  );
  assert.equal(findContainer({ metadata: {} }, 'c'), undefined);
});

test('the work of finding all containers of a pod grows as their number', async () => {
  const stepsOf = (count: number): Promise<number> => {
    const names = Array.from({ length: count }, (_, at) => `c${at}`);
    const pod = podOf({ containers: names.map((name) => ({ name, image: 'i' })) });
    return countSteps('.ts', () => names.forEach((name) => findContainer(pod, name)));
  };
  const [few, more] = [await stepsOf(500), await stepsOf(2000)];
  assert.ok(few > 500, `${few} steps`);
  assert.ok(more < 5 * few, `${few} steps for 500, ${more} for 2000`);
});
