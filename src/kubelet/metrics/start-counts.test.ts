import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { createRuntimeFixture, podOf } from '../runtime/runtime-fixture.ts';

test('starts of sandboxes and containers are counted, with the reason of those that failed', async () => {
  const { platform, cri, sync } = createRuntimeFixture();
  const { metrics } = platform;
  const pod = podOf({
    initContainers: [{ name: 'init', image: 'busybox' }],
    containers: [{ name: 'app', image: 'busybox' }],
  });
  cri.failCalls('runPodSandbox', new CriError('Unknown', 'no network'));
  await sync(pod);
  assert.equal(metrics.value('kubelet_started_pods_total'), 1);
  assert.equal(metrics.value('kubelet_started_pods_errors_total'), 1);
  assert.equal(metrics.value('kubelet_started_containers_total', { container_type: 'init_container' }), undefined);
  cri.failCalls('runPodSandbox', undefined);
  cri.failCalls('createContainer', new CriError('Unknown', 'no space'));
  await sync(pod);
  assert.equal(metrics.value('kubelet_started_pods_total'), 2);
  assert.equal(metrics.value('kubelet_started_pods_errors_total'), 1);
  assert.equal(metrics.value('kubelet_started_containers_total', { container_type: 'init_container' }), 1);
  const failed = { container_type: 'init_container', code: 'CreateContainerError' };
  assert.equal(metrics.value('kubelet_started_containers_errors_total', failed), 1);
});
