import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { createMemoryMetrics } from '../../platform/sim/metrics.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { exposeVolumeTotals } from '../volumes/storage-metrics.ts';
import { claimMetrics } from './volume-metrics.ts';

const use = { usedBytes: 3, capacityBytes: 10, availableBytes: 7, inodes: 5, inodesUsed: 1, inodesFree: 4 };

function podOf(name: string, volumes: NonNullable<NonNullable<Pod['spec']>['volumes']>): Pod {
  return { metadata: { name, namespace: 'n', uid: name }, spec: { containers: [], volumes } };
}

test('use of claims is told once per claim; a volume that hangs keeps nothing back', async () => {
  const { clock } = createSimPlatform();
  const shared = { name: 'data', persistentVolumeClaim: { claimName: 'shared' } };
  const pods = [
    podOf('a', [shared, { name: 'tmp', emptyDir: {} }]),
    podOf('b', [shared]),
    podOf('c', [{ name: 'own', ephemeral: {} }]),
    podOf('hangs', [{ name: 'v', persistentVolumeClaim: { claimName: 'lost' } }]),
  ];
  const volumes = async (pod: Pod) =>
    pod.metadata.name === 'hangs'
      ? new Promise<never>(() => undefined)
      : new Map((pod.spec?.volumes ?? []).map(({ name }) => [name, use]));
  const lines = (await clock.drive(claimMetrics({ clock, disk: { volumes } }, pods))).split('\n');
  assert.deepEqual(
    lines.filter((line) => line.startsWith('kubelet_volume_stats_available_bytes')),
    [
      'kubelet_volume_stats_available_bytes{namespace="n",persistentvolumeclaim="shared"} 7',
      'kubelet_volume_stats_available_bytes{namespace="n",persistentvolumeclaim="c-own"} 7',
    ],
  );
  for (const [name, value] of [
    ['capacity_bytes', 10],
    ['used_bytes', 3],
    ['inodes', 5],
    ['inodes_used', 1],
    ['inodes_free', 4],
  ])
    assert.ok(
      lines.includes(`kubelet_volume_stats_${name}{namespace="n",persistentvolumeclaim="shared"} ${value}`),
      String(name),
    );
  assert.equal(await claimMetrics({ clock, disk: { volumes } }, []), '');
});

test('volumes wanted and there are counted by plugin', async () => {
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
