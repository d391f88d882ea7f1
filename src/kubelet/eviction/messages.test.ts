import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { countSteps } from '../../base/count-steps-fixture.ts';
import type { PodStats } from '../stats/summary-types.ts';
import { lowNodeMessage } from './messages.ts';
import type { Threshold } from './thresholds.ts';

const threshold: Threshold = {
  signal: 'memory.available',
  value: { units: 100 },
  gracePeriodMs: 0,
  hard: true,
  minReclaim: undefined,
};

/** A pod of these containers, each of which uses more than it requests, and one more in the statistics. */
function victim(count: number): { pod: Pod; stats: PodStats } {
  const names = Array.from({ length: count }, (_, at) => `c${at}`);
  return {
    pod: { metadata: { name: 'p' }, spec: { containers: names.map((name) => ({ name, image: 'i' })) } },
    stats: {
      containers: [...names, 'constructor'].map((name) => ({ name, memory: { workingSetBytes: 1024 } })),
    } as unknown as PodStats,
  };
}

test('containers that use more than they request are named, if the pod declares them', () => {
  assert.equal(
    lowNodeMessage(threshold, new Map(), victim(2)),
    'The node was low on resource: memory. ' +
      'Container c0 was using 1Ki, request is 0, has larger consumption of memory. ' +
      'Container c1 was using 1Ki, request is 0, has larger consumption of memory. ',
  );
});

test('the work of the message grows as the number of containers', async () => {
  const stepsOf = (count: number): Promise<number> => {
    const of = victim(count);
    return countSteps('.ts', () => lowNodeMessage(threshold, new Map(), of));
  };
  const [few, more] = [await stepsOf(500), await stepsOf(2000)];
  assert.ok(few > 500, `${few} steps`);
  assert.ok(more < 5 * few, `${few} steps for 500, ${more} for 2000`);
});
