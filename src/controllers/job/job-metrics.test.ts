import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryMetrics } from '../../platform/sim/metrics.ts';
import { createJobMetrics } from './job-metrics.ts';

for (const [policy, failed, terminating, reason] of [
  ['TerminatingOrFailed', 0, 0, 'new'],
  ['TerminatingOrFailed', 1, 0, 'recreate_terminating_or_failed'],
  ['TerminatingOrFailed', 0, 1, 'recreate_terminating_or_failed'],
  ['Failed', 0, 0, 'new'],
  ['Failed', 2, 1, 'recreate_failed'],
  ['Failed', 0, 1, 'recreate_terminating_or_failed'],
] as const)
  test(`pods made with policy ${policy}, ${failed} failed and ${terminating} terminating, are ${reason}`, () => {
    const metrics = createMemoryMetrics();
    const spec = { podReplacementPolicy: policy, template: {} };
    createJobMetrics(metrics).podsCreated({ spec, failed, terminating }, { succeeded: 3, failed: 1 });
    const value = (status: string): number | undefined =>
      metrics.value('job_controller_job_pods_creation_total', { reason, status });
    assert.deepEqual([value('succeeded'), value('failed')], [3, 1]);
  });
