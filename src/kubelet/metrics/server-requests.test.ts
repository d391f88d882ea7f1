import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimCgroups } from '../../platform/sim/cgroups.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { textResponse } from '../server/text-response.ts';
import { measureCgroups } from './cgroup-operations.ts';
import { createServerRequests } from './server-requests.ts';

test('requests are counted, timed, and reported while they run', async () => {
  const platform = createSimPlatform();
  const { clock, metrics } = platform;
  const measure = createServerRequests(platform, 'readonly');
  const labels = { method: 'GET', path: 'pods', server_type: 'readonly', long_running: 'false' };
  const answer = measure({ method: 'GET' }, 'pods', async () => {
    await clock.sleep(2000);
    return textResponse(200, 'ok');
  });
  assert.equal(metrics.value('kubelet_http_inflight_requests', labels), 1);
  await clock.drive(answer);
  assert.equal(metrics.value('kubelet_http_inflight_requests', labels), 0);
  assert.equal(metrics.value('kubelet_http_requests_total', labels), 1);
  assert.equal(metrics.sum('kubelet_http_requests_duration_seconds', labels), 2);
  await assert.rejects(
    measure({ method: 'BREW' }, 'exec', async () => {
      throw new Error('broken');
    }),
  );
  const other = { method: 'other', path: 'exec', server_type: 'readonly', long_running: 'true' };
  assert.equal(metrics.value('kubelet_http_inflight_requests', other), 0);
  assert.equal(metrics.value('kubelet_http_requests_duration_seconds', other), 1);
});

test('changes of cgroups are timed, readings are not', async () => {
  const platform = createSimPlatform();
  const cgroups = measureCgroups(createSimCgroups(), platform);
  await cgroups.create('/a', {});
  await cgroups.update('/a', { cpuShares: 2 });
  assert.equal(await cgroups.exists('/a'), true);
  await cgroups.destroy('/a');
  const count = (type: string): number | undefined =>
    platform.metrics.value('kubelet_cgroup_manager_duration_seconds', { operation_type: type });
  assert.deepEqual(['create', 'update', 'destroy', 'exists'].map(count), [1, 1, 1, undefined]);
});
