import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryMetrics } from '../../platform/sim/metrics.ts';
import { exposeVolumeTotals } from './storage-metrics.ts';

test('desired and actual volumes are counted by plugin', async () => {
  const metrics = createMemoryMetrics();
  const plugin = 'kubernetes.io/empty-dir';
  let volumes = [
    { plugin, ready: true },
    { plugin, ready: false },
  ];
  exposeVolumeTotals(metrics, () => volumes, new AbortController().signal);
  await metrics.expose();
  const total = (state: string): number | undefined =>
    metrics.value('volume_manager_total_volumes', { plugin_name: plugin, state });
  assert.deepEqual([total('desired_state_of_world'), total('actual_state_of_world')], [2, 1]);
  volumes = [];
  await metrics.expose();
  assert.deepEqual([total('desired_state_of_world'), total('actual_state_of_world')], [0, 0]);
});
