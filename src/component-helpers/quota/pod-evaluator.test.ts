import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { countSteps } from '../../base/count-steps-fixture.ts';
import { podUsage } from './pod-evaluator.ts';

/** A pod whose containers request less than they still have allocated. */
function shrinking(count: number): Pod {
  const resources = { requests: { cpu: '1' } };
  const names = Array.from({ length: count }, (_, at) => `c${at}`);
  return {
    metadata: { name: 'p' },
    spec: { containers: names.map((name) => ({ name, image: 'i', resources })) },
    status: { containerStatuses: names.map((name) => ({ name, resources: { requests: { cpu: '3' } } })) },
  } as unknown as Pod;
}

test('containers count their allocated resources', () => {
  assert.deepEqual(podUsage(shrinking(3), 0), { 'count/pods': '1', pods: '1', cpu: '9', 'requests.cpu': '9' });
});

test('the work of counting a pod grows as the number of its containers', async () => {
  const stepsOf = (count: number): Promise<number> => {
    const pod = shrinking(count);
    return countSteps('.ts', () => podUsage(pod, 0));
  };
  const [few, more] = [await stepsOf(500), await stepsOf(2000)];
  assert.ok(few > 500, `${few} steps`);
  assert.ok(more < 5 * few, `${few} steps for 500, ${more} for 2000`);
});
