import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job, JobSpec } from '../../api/gen/batch-v1.ts';
import { parseTime } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import { Evidence } from '../evidence.ts';
import { explainJob } from './job.ts';

const client = {
  resource: () => ({ list: () => Promise.resolve({ metadata: {}, items: [] }) }),
} as unknown as Client;
const explain = (): Promise<never> => Promise.reject(new Error('no other object is explained'));

async function codesOf(spec: Partial<JobSpec>, status: Job['status'] = {}): Promise<readonly string[]> {
  const metadata = { namespace: 'default', name: 'j', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' };
  const job = { metadata, spec: { template: {}, ...spec }, status } as Job;
  const evidence = new Evidence({ client, nowMs: parseTime('2026-01-02T00:00:00Z'), explain });
  return (await explainJob(job, evidence)).causes.map(({ code }) => code);
}

test('a job without started pods has a cause', async () => {
  assert.deepEqual(await codesOf({ suspend: true }), ['Suspended']);
  assert.deepEqual(await codesOf({ parallelism: 0 }), ['Suspended']);
  assert.deepEqual(await codesOf({ managedBy: 'example.com/queue' }), ['ManagedElsewhere']);
  assert.deepEqual(await codesOf({}), []);
});

test('a failed job is reported as failed, whatever else would prevent its pods', async () => {
  const failed = { type: 'Failed', status: 'True', reason: 'DeadlineExceeded' };
  for (const spec of [{}, { suspend: true }, { parallelism: 0 }])
    assert.deepEqual(await codesOf(spec, { conditions: [failed] }), ['DeadlineExceeded'], JSON.stringify(spec));
});
