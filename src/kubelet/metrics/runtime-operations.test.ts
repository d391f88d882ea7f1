import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { createSimRuntime } from '../../cri/sim/sim-runtime.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { measureRuntime } from './runtime-operations.ts';

test('calls of the runtime are counted and timed, with their failures', async () => {
  const platform = createSimPlatform();
  const { clock, metrics } = platform;
  const sim = createSimRuntime(platform);
  const { runtime, images } = measureRuntime(sim, platform);
  await clock.drive(runtime.listContainers({}));
  await clock.drive(runtime.listContainers({}));
  await clock.drive(images.listImages({}));
  sim.failCalls('runPodSandbox', new CriError('Unknown', 'no network'));
  await assert.rejects(clock.drive(runtime.runPodSandbox({ runtimeHandler: 'gvisor' })), /no network/);
  sim.failCalls('updateContainerResources', new CriError('NotFound', 'gone'));
  await assert.rejects(clock.drive(runtime.updateContainerResources({ containerId: 'c' })), /gone/);
  const cases: readonly (readonly [string, number, number | undefined])[] = [
    ['list_containers', 2, undefined],
    ['list_images', 1, undefined],
    ['run_podsandbox', 1, 1],
    ['update_container', 1, 1],
  ];
  for (const [operation_type, calls, errors] of cases) {
    const labels = { operation_type };
    assert.equal(metrics.value('kubelet_runtime_operations_total', labels), calls, operation_type);
    assert.equal(metrics.value('kubelet_runtime_operations_duration_seconds', labels), calls, operation_type);
    assert.equal(metrics.value('kubelet_runtime_operations_errors_total', labels), errors, operation_type);
  }
  const handler = { runtime_handler: 'gvisor' };
  assert.equal(metrics.value('kubelet_run_podsandbox_duration_seconds', handler), 1);
  assert.equal(metrics.value('kubelet_run_podsandbox_errors_total', handler), 1);
});

test('the time of a call is that of the runtime', async () => {
  const platform = createSimPlatform();
  const { clock, metrics } = platform;
  const sim = createSimRuntime(platform);
  const slow = { ...sim, runtime: { ...sim.runtime, version: () => clock.sleep(1_500).then(() => ({}) as never) } };
  await clock.drive(measureRuntime(slow, platform).runtime.version({}));
  assert.equal(metrics.sum('kubelet_runtime_operations_duration_seconds', { operation_type: 'version' }), 1.5);
});
