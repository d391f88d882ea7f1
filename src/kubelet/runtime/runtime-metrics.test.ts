import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { countedRuntime } from './runtime-metrics.ts';

it('calls to the runtime are counted, timed, and their errors too; streams are left alone', async () => {
  const platform = createSimPlatform();
  const stream = async function* () {
    yield 1;
  };
  const cri = {
    runtime: {
      version: async () => ({ runtimeName: 'sim' }),
      async stopContainer() {
        await platform.clock.sleep(3_000);
        throw new Error('gone');
      },
      getContainerEvents: stream,
    },
    images: { listImages: async () => ({ images: [] }) },
    events: stream,
  } as unknown as CriRuntime;
  const counted = countedRuntime(cri, platform);
  assert.deepEqual(await counted.runtime.version({}), { runtimeName: 'sim' });
  await counted.images.listImages({});
  await assert.rejects(platform.clock.drive(counted.runtime.stopContainer({})), /gone/);
  assert.equal(counted.runtime.getContainerEvents, stream);
  const value = (name: string, operation: string): number | undefined =>
    platform.metrics.value(`kubelet_runtime_operations_${name}`, { operation_type: operation });
  assert.deepEqual(
    ['version', 'list_images', 'stop_container'].map((operation) => [
      value('total', operation),
      value('errors_total', operation),
    ]),
    [
      [1, undefined],
      [1, undefined],
      [1, 1],
    ],
  );
  const labels = { operation_type: 'stop_container' };
  assert.equal(platform.metrics.sum('kubelet_runtime_operations_duration_seconds', labels), 3);
});
