import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createKubeletFixture } from '../fixtures/kubelet-fixture.ts';
import { createPodStarts } from './pod-starts.ts';

test('a start is timed from creation and from the first sight, with and without pulls and init containers', async () => {
  const platform = createSimPlatform();
  const { clock, metrics } = platform;
  const starts = createPodStarts(platform);
  const bornMs = clock.nowMs();
  const at = (seconds: number): string => formatTime(bornMs + seconds * 1000);
  const pod: Pod = {
    metadata: { name: 'web', uid: 'u', creationTimestamp: at(0) },
    spec: { initContainers: [{ name: 'init' }], containers: [{ name: 'app' }] },
    status: { phase: 'Pending' },
  };
  await clock.advance(1000);
  starts.seen(pod);
  await clock.advance(6000);
  starts.pulled('u', 4000, 20 * 1024 * 1024);
  await clock.advance(5000);
  starts.watched(pod);
  assert.equal(metrics.value('kubelet_pod_start_sli_duration_seconds', { first_with_network: 'true' }), undefined);
  const started = { name: 'app', state: { running: { startedAt: at(12) } } };
  const init = { name: 'init', state: { terminated: { exitCode: 0, startedAt: at(7), finishedAt: at(10) } } };
  const status = { phase: 'Running', initContainerStatuses: [init], containerStatuses: [started] } as Pod['status'];
  starts.reported(pod, status ?? {});
  starts.reported(pod, status ?? {});
  starts.watched({ ...pod, status });
  starts.watched({ ...pod, status });
  const first = { first_with_network: 'true' };
  assert.equal(metrics.value('kubelet_pod_start_duration_seconds'), 1);
  assert.equal(metrics.sum('kubelet_pod_start_duration_seconds'), 11);
  assert.equal(metrics.sum('kubelet_pod_start_total_duration_seconds', first), 12);
  assert.equal(metrics.sum('kubelet_pod_start_sli_duration_seconds', first), 12 - 4 - 3);
  assert.equal(metrics.value('kubelet_pod_start_sli_duration_seconds', first), 1);
  assert.equal(metrics.sum('kubelet_image_pull_duration_seconds', { image_size_in_bytes: '10MB-100MB' }), 4);
});

test('pods that ran before the kubelet are no starts; pods it starts are', async () => {
  const fixture = createKubeletFixture();
  await fixture.start();
  const { clock, metrics } = fixture.platform;
  fixture.addPod('web', { metadata: { creationTimestamp: formatTime(clock.nowMs()) } });
  const labels = { first_with_network: 'true' };
  await clock.runUntil(() => metrics.value('kubelet_pod_start_sli_duration_seconds', labels) === 1, 10_000);
  assert.equal(metrics.value('kubelet_pod_start_duration_seconds'), 1);
  assert.equal(metrics.value('kubelet_containers_per_pod_count'), 1);
  await fixture.stop();
  const again = createKubeletFixture({ beside: fixture });
  await again.start();
  await clock.runUntil(() => metrics.value('kubelet_containers_per_pod_count') === 2, 10_000);
  assert.equal(metrics.value('kubelet_pod_start_duration_seconds'), 1);
  await again.stop();
});
