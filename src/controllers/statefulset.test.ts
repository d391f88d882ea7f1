import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stableStringify } from '../base/stable-json.ts';
import { ControllerRevisions, PersistentVolumeClaims, Pods, StatefulSets } from '../api/gen/resources.ts';
import type { StatefulSet } from '../api/gen/apps-v1.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { createGarbageCollector } from './garbage-collector/garbage-collector.ts';
import { createPvcProtectionController } from './pvc-protection/pvc-protection-controller.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';
import { createStatefulSetController } from './statefulset/statefulset-controller.ts';

type Spec = NonNullable<StatefulSet['spec']>;

const template = (image: string) => ({
  metadata: { labels: { app: 'db' } },
  spec: { containers: [{ name: 'c', image }] },
});
const claim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
const db = (spec: Partial<Spec> = {}): object => ({
  metadata: { name: 'db' },
  spec: { replicas: 3, serviceName: 'db', selector: { matchLabels: { app: 'db' } }, template: template('v1'), ...spec },
});
async function start(spec: Partial<Spec> = {}, runMs = 1500): Promise<ServerHarness> {
  const h = await startServerHarness([
    createStatefulSetController,
    createGarbageCollector,
    createPvcProtectionController,
  ]);
  await h.create(StatefulSets, db(spec));
  if (runMs > 0) await h.run(runMs);
  return h;
}
const set = (h: ServerHarness): Promise<StatefulSet> => h.get(StatefulSets, 'default/db');
const change = (h: ServerHarness, edit: (spec: Spec) => void) =>
  h.update(StatefulSets, 'default/db', (draft) => edit(draft.spec as Spec));
const names = async (h: ServerHarness): Promise<string[]> => (await h.pods()).map((pod) => pod.metadata.name ?? '');
const images = async (h: ServerHarness): Promise<string[]> =>
  (await h.pods()).map((pod) => pod.spec?.containers[0]?.image ?? '');
const claims = async (h: ServerHarness): Promise<string[]> =>
  (await h.list(PersistentVolumeClaims)).map((c) => c.metadata.name ?? '').sort();
const nothingRuns = { which: () => false };

describe('statefulset', () => {
  it('makes pods in order, each after the one before is ready', async () => {
    const h = await start({}, 0);
    await h.run(500, nothingRuns);
    assert.deepEqual(await names(h), ['db-0']);
    await h.run(500, { which: (pod) => pod.metadata.name === 'db-0' });
    assert.deepEqual(await names(h), ['db-0', 'db-1']);
    await h.run(500);
    assert.deepEqual(await names(h), ['db-0', 'db-1', 'db-2']);
    const [pod] = await h.pods();
    const { status } = await set(h);
    assert.deepEqual([pod?.spec?.hostname, pod?.spec?.subdomain], ['db-0', 'db']);
    assert.deepEqual(
      [
        pod?.metadata.labels?.['statefulset.kubernetes.io/pod-name'],
        pod?.metadata.labels?.['apps.kubernetes.io/pod-index'],
        pod?.metadata.labels?.['controller-revision-hash'],
      ],
      ['db-0', '0', status?.currentRevision],
    );
    assert.deepEqual(
      [
        status?.replicas,
        status?.readyReplicas,
        status?.availableReplicas,
        status?.currentReplicas,
        status?.updatedReplicas,
      ],
      [3, 3, 3, 3, 3],
    );
    assert.equal(status?.currentRevision, status?.updateRevision);
    const [revision] = await h.list(ControllerRevisions);
    assert.equal(JSON.stringify(revision?.data), stableStringify(revision?.data), 'clients compare bytes');
    assert.ok((await h.events()).includes('Normal SuccessfulCreate create Pod db-0 in StatefulSet db successful'));
    await h.stop();
  });

  it('makes and removes pods all at once when parallel', async () => {
    const h = await start({ podManagementPolicy: 'Parallel' }, 0);
    await h.run(300, nothingRuns);
    assert.deepEqual(await names(h), ['db-0', 'db-1', 'db-2']);
    await change(h, (spec) => void (spec.replicas = 0));
    await h.clock.advance(100);
    assert.deepEqual(await names(h), []);
    await h.stop();
  });

  it('shrinks from the top, one at a time', async () => {
    const h = await start();
    await change(h, (spec) => void (spec.replicas = 1));
    await h.clock.advance(50);
    assert.deepEqual(await names(h), ['db-0', 'db-1'], 'db-1 waits for db-2 to be gone');
    await h.run(500);
    assert.deepEqual(await names(h), ['db-0']);
    await h.stop();
  });

  it('stops shrinking while its pods do not work, but for the only one that does not', async () => {
    const h = await start();
    const ready = (name: string, status: 'True' | 'False') =>
      h.update(Pods, `default/${name}`, (pod) => void (pod.status!.conditions = [{ type: 'Ready', status }]), 'status');
    for (const name of ['db-0', 'db-1', 'db-2']) await ready(name, 'False');
    await change(h, (spec) => void (spec.replicas = 0));
    await h.clock.advance(60_000);
    assert.deepEqual(await names(h), ['db-0', 'db-1', 'db-2']);
    for (const name of ['db-0', 'db-1']) await ready(name, 'True');
    await h.run(1000);
    assert.deepEqual(await names(h), []);
    await h.stop();
  });

  it('counts from the configured ordinal', async () => {
    const h = await start({ ordinals: { start: 5 }, replicas: 2 });
    assert.deepEqual(await names(h), ['db-5', 'db-6']);
    await change(h, (spec) => void (spec.ordinals = { start: 6 }));
    await h.run(1000);
    assert.deepEqual(await names(h), ['db-6', 'db-7']);
    await h.stop();
  });

  it('writes nothing more once settled', async () => {
    const h = await start({ volumeClaimTemplates: [claim] as never });
    const before = h.writes();
    await h.clock.advance(3_600_000);
    assert.equal(h.writes(), before);
    await h.stop();
  });

  it('waits for minReadySeconds between pods', async () => {
    const h = await start({ minReadySeconds: 10 }, 5000);
    assert.deepEqual(await names(h), ['db-0']);
    assert.deepEqual([(await set(h)).status?.readyReplicas, (await set(h)).status?.availableReplicas], [1, 0]);
    await h.run(8000, { stepMs: 500 });
    assert.deepEqual(await names(h), ['db-0', 'db-1']);
    await h.stop();
  });

  it('updates from the top, one at a time, and makes the revision current', async () => {
    const h = await start();
    const old = (await set(h)).status?.currentRevision;
    await change(h, (spec) => void (spec.template = template('v2')));
    await h.run(300, { which: (pod) => pod.spec?.containers[0]?.image === 'v1' });
    assert.deepEqual(await images(h), ['v1', 'v1', 'v2'], 'db-1 waits for db-2 to be ready');
    assert.equal((await set(h)).status?.currentRevision, old);
    await h.run(2000);
    assert.deepEqual(await images(h), ['v2', 'v2', 'v2']);
    const { status } = await set(h);
    assert.notEqual(status?.currentRevision, old);
    assert.equal(status?.currentRevision, status?.updateRevision);
    assert.deepEqual((await h.list(ControllerRevisions)).map((r) => r.revision).sort(), [1, 2]);
    await h.stop();
  });

  it('updates only from the partition up; pods below are recreated from the old revision', async () => {
    const h = await start({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } });
    await change(h, (spec) => void (spec.template = template('v2')));
    await h.run(1000);
    assert.deepEqual(await images(h), ['v1', 'v1', 'v2']);
    await h.remove(Pods, 'default/db-0');
    await h.run(500);
    assert.deepEqual(await images(h), ['v1', 'v1', 'v2']);
    const { status } = await set(h);
    assert.deepEqual([status?.currentReplicas, status?.updatedReplicas], [2, 1]);
    await h.stop();
  });

  it('updates one pod at a time with any maxUnavailable: its feature gate is off', async () => {
    const h = await start({
      replicas: 4,
      podManagementPolicy: 'Parallel',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2 } },
    });
    await change(h, (spec) => void (spec.template = template('v2')));
    await h.run(300, { which: (pod) => pod.spec?.containers[0]?.image === 'v1' });
    assert.deepEqual(await images(h), ['v1', 'v1', 'v1', 'v2']);
    await h.run(1000);
    assert.deepEqual(await images(h), ['v2', 'v2', 'v2', 'v2']);
    await h.stop();
  });

  it('OnDelete applies the new revision when a pod is deleted', async () => {
    const h = await start({ updateStrategy: { type: 'OnDelete' } });
    await change(h, (spec) => void (spec.template = template('v2')));
    await h.run(500);
    assert.deepEqual(await images(h), ['v1', 'v1', 'v1']);
    await h.remove(Pods, 'default/db-1');
    await h.run(500);
    assert.deepEqual(await images(h), ['v1', 'v2', 'v1']);
    await h.stop();
  });

  it('makes failed pods again', async () => {
    const h = await start();
    await h.finish((await h.pods())[1] as Pod, 'Failed');
    await h.run(500);
    assert.deepEqual(await names(h), ['db-0', 'db-1', 'db-2']);
    assert.deepEqual(
      (await h.events()).filter((text) => text.includes('Pod db-1 ') && !text.includes('create Pod')),
      ['Normal SuccessfulDelete delete Pod db-1 in StatefulSet db successful'],
    );
    await h.stop();
  });

  const policies: [whenScaled: string, whenDeleted: string, afterScaling: string[], afterDeletion: string[]][] = [
    ['Retain', 'Retain', ['data-db-0', 'data-db-1'], ['data-db-0', 'data-db-1']],
    ['Delete', 'Retain', ['data-db-0'], ['data-db-0']],
    ['Retain', 'Delete', ['data-db-0', 'data-db-1'], []],
    ['Delete', 'Delete', ['data-db-0'], []],
  ];
  for (const [whenScaled, whenDeleted, afterScaling, afterDeletion] of policies) {
    it(`keeps claims: ${whenScaled} when scaled, ${whenDeleted} when deleted`, async () => {
      const persistentVolumeClaimRetentionPolicy = { whenScaled, whenDeleted };
      const h = await start({
        replicas: 2,
        volumeClaimTemplates: [claim] as never,
        persistentVolumeClaimRetentionPolicy,
      });
      assert.deepEqual(await claims(h), ['data-db-0', 'data-db-1']);
      assert.equal(
        (await h.pods())[0]?.spec?.volumes?.find((v) => v.name === 'data')?.persistentVolumeClaim?.claimName,
        'data-db-0',
      );
      await change(h, (spec) => void (spec.replicas = 1));
      await h.run(2000);
      assert.deepEqual(await claims(h), afterScaling);
      await h.remove(StatefulSets, 'default/db');
      await h.run(2000);
      assert.deepEqual(await claims(h), afterDeletion);
      await h.stop();
    });
  }
});
