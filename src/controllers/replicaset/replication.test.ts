import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Pods, ReplicationControllers } from '../../api/gen/resources.ts';
import { replicationControllerFlavour } from './flavours.ts';
import { createReplicaController } from './replicaset-controller.ts';
import { startServerHarness } from '../server-harness-fixture.ts';

const template = { metadata: { labels: { app: 'x', tier: 'a' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };

it('a ReplicationController keeps its replicas, adopts, releases, and reports its pods', async () => {
  const h = await startServerHarness([(deps) => createReplicaController(deps, replicationControllerFlavour)]);
  await h.create(Pods, { metadata: { name: 'orphan', labels: { app: 'x' } }, spec: template.spec });
  await h.create(ReplicationControllers, {
    metadata: { name: 'rc' },
    spec: { replicas: 3, template, selector: { app: 'x' } },
  });
  await h.run(1000);
  const names = async (): Promise<string[]> => (await h.pods()).map(({ metadata }) => metadata.name ?? '');
  assert.equal((await names()).length, 3);
  const orphan = await h.get(Pods, 'default/orphan');
  assert.deepEqual(
    orphan.metadata.ownerReferences?.map(({ kind, name, controller }) => [kind, name, controller]),
    [['ReplicationController', 'rc', true]],
    'adopted',
  );
  const { status } = await h.get(ReplicationControllers, 'default/rc');
  assert.deepEqual(
    [status?.replicas, status?.readyReplicas, status?.availableReplicas, status?.fullyLabeledReplicas],
    [3, 3, 3, 2],
  );
  await h.update(Pods, 'default/orphan', ({ metadata }) => void (metadata.labels = { app: 'y' }));
  await h.run(1000);
  assert.equal((await h.get(Pods, 'default/orphan')).metadata.ownerReferences, undefined, 'released');
  assert.equal((await names()).length, 4, 'and replaced');
  await h.update(ReplicationControllers, 'default/rc', ({ spec }) => void (spec!.replicas = 1));
  await h.run(1000);
  assert.equal((await names()).filter((name) => name !== 'orphan').length, 1);
  const writes = h.writes();
  await h.run(60_000, { stepMs: 5000 });
  assert.equal(h.writes(), writes, 'at rest nothing is written');
  await h.stop();
});
