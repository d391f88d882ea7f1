/** Deployments that roll back by the annotation which replaces the rollback of early releases. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Deployments, ReplicaSets } from '../api/gen/resources.ts';
import { createDeploymentController } from './deployment/deployment-controller.ts';
import { replicaSetFlavour } from './replicaset/flavours.ts';
import { createReplicaController } from './replicaset/replicaset-controller.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';

const WISH = 'deprecated.deployment.rollback.to';
const WHY = 'kubernetes.io/change-cause';
const REVISION = 'deployment.kubernetes.io/revision';

/** Three revisions, each with its image and its cause. */
async function start(): Promise<ServerHarness> {
  const h = await startServerHarness([
    createDeploymentController,
    (deps) => createReplicaController(deps, replicaSetFlavour),
  ]);
  const template = (image: string): object => ({
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image }] },
  });
  await h.create(Deployments, {
    metadata: { name: 'web', annotations: { [WHY]: 'one' } },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template: template('one') },
  });
  await h.run(3000);
  for (const image of ['two', 'three']) {
    await h.update(Deployments, 'default/web', (draft) => {
      draft.metadata.annotations = { ...draft.metadata.annotations, [WHY]: image };
      draft.spec!.template.spec!.containers[0]!.image = image;
    });
    await h.run(3000);
  }
  return h;
}

describe('a rollback by annotation', () => {
  const cases: [wish: string, image: string, revision: string, event: string][] = [
    ['1', 'one', '4', 'Normal DeploymentRollback Rolled back deployment "web" to revision 1'],
    ['0', 'two', '4', 'Normal DeploymentRollback Rolled back deployment "web" to revision 2'],
    [
      '3',
      'three',
      '3',
      'Warning DeploymentRollbackTemplateUnchanged The rollback revision contains the same template as current deployment "web"',
    ],
    ['9', 'three', '3', 'Warning DeploymentRollbackRevisionNotFound Unable to find the revision to rollback to.'],
  ];
  for (const [wish, image, revision, event] of cases)
    it(`to ${wish}: ${event}`, async () => {
      const h = await start();
      await h.update(Deployments, 'default/web', (draft) => void (draft.metadata.annotations![WISH] = wish));
      await h.run(3000);
      const { metadata, spec, status } = await h.get(Deployments, 'default/web');
      const template = spec?.template;
      assert.deepEqual(
        [template?.spec?.containers[0]?.image, metadata.annotations?.[WHY], metadata.annotations?.[WISH]],
        [image, image, undefined],
      );
      assert.deepEqual(template?.metadata?.labels, { app: 'web' });
      assert.deepEqual([metadata.annotations?.[REVISION], status?.availableReplicas], [revision, 1]);
      assert.ok((await h.events()).includes(event), (await h.events()).join('\n'));
      assert.equal((await h.list(ReplicaSets)).length, 3);
      const writes = h.writes();
      await h.clock.advance(60_000);
      assert.equal(h.writes(), writes, 'comes to rest');
      await h.stop();
    });

  it('waits while the deployment is paused; a value that is no number is ignored', async () => {
    const h = await start();
    await h.update(Deployments, 'default/web', (draft) => {
      draft.metadata.annotations![WISH] = '1';
      draft.spec!.paused = true;
    });
    await h.run(3000);
    const imageNow = async (): Promise<string | undefined> =>
      (await h.get(Deployments, 'default/web')).spec?.template.spec?.containers[0]?.image;
    assert.equal(await imageNow(), 'three');
    await h.update(Deployments, 'default/web', (draft) => {
      draft.metadata.annotations![WISH] = 'back';
      draft.spec!.paused = false;
    });
    await h.run(3000);
    assert.equal(await imageNow(), 'three');
    await h.update(Deployments, 'default/web', (draft) => void (draft.metadata.annotations![WISH] = '1'));
    await h.run(3000);
    assert.equal(await imageNow(), 'one');
    await h.stop();
  });
});
