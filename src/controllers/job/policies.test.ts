import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobSpec } from '../../api/gen/batch-v1.ts';
import type { ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import { matchFailurePolicy, matchInTurns } from './policies.ts';

const many = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

test('failed pods of thousands of containers are compared with the rules in turns, and once', async () => {
  let reads = 0;
  const status = (at: number): ContainerStatus =>
    Object.defineProperty({ name: `c${at}` } as ContainerStatus, 'state', {
      get: () => (reads++, { terminated: { exitCode: 1000 + at } }),
    });
  const pods = many(20, (): Pod => ({
    metadata: {},
    status: { phase: 'Failed', containerStatuses: many(500, status) },
  }));
  const rule = { action: 'Ignore', onExitCodes: { operator: 'In', values: many(255, (at) => at + 1) } };
  const spec = { podFailurePolicy: { rules: many(20, () => rule) } } as unknown as JobSpec;
  let pauses = 0;
  await matchInTurns(spec, pods, async () => void pauses++);
  assert.equal(reads, 20 * 20 * 500);
  assert.ok(pauses >= 5, `${pauses} pauses`);
  for (const pod of pods) assert.deepEqual(matchFailurePolicy(spec, pod), { counts: true });
  assert.equal(reads, 20 * 20 * 500);
});
