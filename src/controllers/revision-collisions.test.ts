/** Another owner's object has the name of a new revision: another name is found, and the rollout continues. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ControllerRevisions, DaemonSets, Deployments, Pods, ReplicaSets, StatefulSets } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { createDaemonSetController } from './daemonset/daemonset-controller.ts';
import { createDeploymentController } from './deployment/deployment-controller.ts';
import { replicaSetFlavour } from './replicaset/flavours.ts';
import { createReplicaController } from './replicaset/replicaset-controller.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';
import { createStatefulSetController } from './statefulset/statefulset-controller.ts';

interface Workload extends KubernetesObject {
  readonly status?: { readonly collisionCount?: number; readonly observedGeneration?: number };
}

const selector = { matchLabels: { app: 'x' } };
const template = (image: string): object => ({
  metadata: { labels: { app: 'x' } },
  spec: { containers: [{ name: 'c', image }] },
});

interface Kind {
  readonly info: ResourceInfo<Workload>;
  readonly revisions: ResourceInfo;
  readonly spec: object;
}

const kinds: readonly Kind[] = [
  { info: DaemonSets as never, revisions: ControllerRevisions, spec: {} },
  { info: StatefulSets as never, revisions: ControllerRevisions, spec: { serviceName: 'x', replicas: 1 } },
  { info: Deployments as never, revisions: ReplicaSets, spec: { replicas: 1 } },
];

const names = async (h: ServerHarness, info: ResourceInfo): Promise<string[]> =>
  (await h.list(info as ResourceInfo<KubernetesObject>)).map(({ metadata }) => metadata.name ?? '').toSorted();

/** An object of that name with different content. */
async function occupy(h: ServerHarness, revisions: ResourceInfo, name: string): Promise<void> {
  const labels = { app: 'other' };
  const containers = [{ name: 'c', image: 'other' }];
  const foreign =
    revisions === ControllerRevisions
      ? { metadata: { name }, data: { spec: { template: {} } }, revision: 1 }
      : {
          metadata: { name },
          spec: {
            replicas: 0,
            selector: { matchLabels: labels },
            template: { metadata: { labels }, spec: { containers } },
          },
        };
  await h.create(revisions as ResourceInfo<KubernetesObject>, foreign);
}

describe('a name in use', () => {
  for (const { info, revisions, spec } of kinds)
    it(`is counted as a collision of the ${info.kind}, which takes another, twice`, async () => {
      const h = await startServerHarness([
        createDaemonSetController,
        createStatefulSetController,
        createDeploymentController,
        (deps) => createReplicaController(deps, replicaSetFlavour),
      ]);
      await h.addNode('node');
      const make = (): Promise<Workload> =>
        h.create(info, { metadata: { name: 'x' }, spec: { ...spec, selector, template: template('a') } });
      const taken: string[] = [];
      for (let collisions = 0; collisions <= 2; collisions++) {
        await make();
        await h.run(20_000, { stepMs: 500 });
        const { status, metadata } = await h.get(info, 'default/x');
        assert.equal(status?.collisionCount ?? 0, collisions);
        assert.equal(status?.observedGeneration, metadata.generation);
        const [pod, ...more] = await h.pods();
        assert.deepEqual([pod?.spec?.containers[0]?.image, more.length], ['a', 0]);
        const own = (await names(h, revisions)).filter((name) => !taken.includes(name));
        assert.equal(own.length, 1, own.join());
        // When it is created again it would compute the same names, which are in use then.
        await h.remove(info, 'default/x');
        await h.remove(revisions, `default/${own[0]}`);
        for (const name of await names(h, Pods)) await h.remove(Pods, `default/${name}`);
        await h.run(1000);
        await occupy(h, revisions, own[0]!);
        taken.push(own[0]!);
      }
      await h.stop();
    });
});
