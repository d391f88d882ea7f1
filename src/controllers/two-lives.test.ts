/** Metrics of controllers about the cluster end with their leadership; the registry outlives it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PersistentVolumes, ResourceClaims } from '../api/gen/resources.ts';
import { createPersistentVolumeBinder } from './persistentvolume-binder/binder-controller.ts';
import { createResourceClaimController } from './resourceclaim/resourceclaim-controller.ts';
import { startServerHarness } from './server-harness-fixture.ts';

const NAMES = /^(pv_collector_[a-z_]+_count|resourceclaim_controller_resource_claims|workqueue_depth)\{/;

it('controllers that start again count from zero, and between both terms there are no samples', async () => {
  const h = await startServerHarness([]);
  const factories = [createPersistentVolumeBinder, createResourceClaimController];
  const live = () => h.startThrough({ factories, through: (handler) => handler });
  const told = async (): Promise<string[]> =>
    (await h.metrics.expose()).split('\n').filter((line) => NAMES.test(line) && !line.startsWith('workqueue'));
  const volume = (name: string) => ({
    metadata: { name },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } },
  });
  const kill = live();
  for (const name of ['a', 'b']) await h.create(PersistentVolumes, volume(name));
  await h.create(ResourceClaims, { metadata: { name: 'c' }, spec: {} });
  await h.clock.advance(1000);
  const expected = (volumes: number): string[] => [
    `pv_collector_unbound_pv_count{storage_class=""} ${volumes}`,
    `pv_collector_total_pv_count{plugin_name="kubernetes.io/host-path",volume_mode="Filesystem"} ${volumes}`,
    'resourceclaim_controller_resource_claims{allocated="false",admin_access="false",source=""} 1',
  ];
  assert.deepEqual((await told()).toSorted(), expected(2).toSorted());
  kill(new Error('lost the lead'));
  await h.clock.settle();
  assert.deepEqual(
    (await h.metrics.expose()).split('\n').filter((line) => NAMES.test(line)),
    [],
  );
  await h.create(PersistentVolumes, volume('late'));
  live();
  await h.clock.advance(1000);
  assert.deepEqual((await told()).toSorted(), expected(3).toSorted());
  await h.stop();
});
