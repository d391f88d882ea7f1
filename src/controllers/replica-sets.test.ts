/** Which pods count for a set, and which go first, in a real server. Upstream: test/integration/replicaset, deployment. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Deployments, Pods, ReplicaSets } from '../api/gen/resources.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { createDeploymentController } from './deployment/deployment-controller.ts';
import { replicaSetFlavour } from './replicaset/flavours.ts';
import { createReplicaController } from './replicaset/replicaset-controller.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';

const labels = { app: 'web' };
const containers = [{ name: 'c', image: 'i' }];
const start = (): Promise<ServerHarness> =>
  startServerHarness([createDeploymentController, (deps) => createReplicaController(deps, replicaSetFlavour)]);
const set = (h: ServerHarness, replicas: number, { name = 'rs', extra = {} } = {}) =>
  h.create(ReplicaSets, {
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels: { ...labels, ...extra } }, spec: { containers } },
    },
  });
const names = async (h: ServerHarness): Promise<string[]> =>
  (await h.pods()).map(({ metadata }) => metadata.name ?? '');
const scale = (h: ServerHarness, replicas: number) =>
  h.update(ReplicaSets, 'default/rs', (draft) => void (draft.spec!.replicas = replicas));
const ownersOf = async (h: ServerHarness): Promise<(string | undefined)[]> =>
  (await h.pods()).map(({ metadata }) => metadata.ownerReferences?.[0]?.name);

describe('a ReplicaSet', () => {
  it('deletes the cheapest pods first', async () => {
    const h = await start();
    await set(h, 4);
    await h.run(500);
    const [dear, cheap, free, wrong] = await names(h);
    const costs = { [dear!]: '100', [cheap!]: '-100', [free!]: undefined, [wrong!]: '50' };
    for (const [name, cost] of Object.entries(costs))
      if (cost !== undefined)
        await h.update<Pod>(
          Pods,
          `default/${name}`,
          (draft) => void (draft.metadata.annotations = { 'controller.kubernetes.io/pod-deletion-cost': cost }),
        );
    const left: string[][] = [];
    for (const replicas of [3, 2, 1]) {
      await scale(h, replicas);
      await h.run(500);
      left.push(await names(h));
    }
    const without = (...gone: (string | undefined)[]): string[] =>
      [dear!, cheap!, free!, wrong!].filter((name) => !gone.includes(name)).toSorted();
    assert.deepEqual(left, [without(cheap), without(cheap, free), without(cheap, free, wrong)]);
    await h.stop();
  });

  for (const phase of ['Failed', 'Succeeded'] as const)
    it(`replaces a pod that is ${phase}, and leaves it where it is`, async () => {
      const h = await start();
      await set(h, 2);
      await h.run(500);
      const [first] = await h.pods();
      await h.finish(first!, phase);
      await h.run(500);
      assert.deepEqual([(await h.pods()).length, (await h.list(Pods)).length], [2, 3]);
      assert.equal((await h.get(ReplicaSets, 'default/rs')).status?.replicas, 2);
      await h.stop();
    });

  it('reports how many pods have all labels of the template', async () => {
    const h = await start();
    await set(h, 2, { extra: { tier: 'a' } });
    await h.create(Pods, { metadata: { name: 'adopted', labels }, spec: { containers } });
    await h.run(500);
    const { status } = await h.get(ReplicaSets, 'default/rs');
    assert.deepEqual([status?.replicas, status?.fullyLabeledReplicas, status?.readyReplicas], [2, 1, 2]);
    await h.stop();
  });

  it('adopts more than its replicas, and deletes the excess', async () => {
    const h = await start();
    for (const name of ['a', 'b', 'c']) await h.create(Pods, { metadata: { name, labels }, spec: { containers } });
    await set(h, 2);
    await h.run(1000);
    assert.deepEqual(await ownersOf(h), ['rs', 'rs']);
    await h.stop();
  });

  it('leaves pods to another owner of the same selector', async () => {
    const h = await start();
    await set(h, 1, { name: 'one' });
    await h.run(500);
    await set(h, 2, { name: 'two' });
    await h.run(500);
    assert.deepEqual((await ownersOf(h)).toSorted(), ['one', 'two', 'two']);
    await h.stop();
  });

  it('releases a pod whose labels change, and adopts it again', async () => {
    const h = await start();
    await set(h, 1);
    await h.run(500);
    const [name] = await names(h);
    const relabel = (app: string) =>
      h.update<Pod>(Pods, `default/${name}`, (draft) => void (draft.metadata.labels = { app }));
    await relabel('other');
    await h.run(500);
    assert.equal((await h.get<Pod>(Pods, `default/${name}`)).metadata.ownerReferences, undefined);
    assert.equal((await names(h)).length, 2);
    await relabel('web');
    await h.run(500);
    assert.deepEqual(await ownersOf(h), ['rs']);
    await h.stop();
  });

  it('is scaled by its sub-resource', async () => {
    const h = await start();
    await set(h, 1);
    const patch = { spec: { replicas: 3 } };
    await h.clock.drive(
      h.admin
        .resource(ReplicaSets)
        .patch({ namespace: 'default', name: 'rs' }, { type: 'merge', patch }, { subresource: 'scale' }),
    );
    await h.run(500);
    assert.equal((await names(h)).length, 3);
    await h.stop();
  });
});

describe('a Deployment', () => {
  const deploy = (h: ServerHarness, spec: object = {}) =>
    h.create(Deployments, {
      metadata: { name: 'd' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers } },
        ...spec,
      },
    });
  const condition = async (h: ServerHarness, type: string): Promise<(string | undefined)[]> => {
    const found = (await h.get(Deployments, 'default/d')).status?.conditions?.find((one) => one.type === type);
    return [found?.status, found?.reason];
  };

  it('releases a set whose labels change, and adopts it again', async () => {
    const h = await start();
    await deploy(h);
    await h.run(500);
    const [own] = await h.list(ReplicaSets);
    const name = own?.metadata.name ?? '';
    const hash = own?.metadata.labels?.['pod-template-hash'] ?? '';
    const relabel = (app: string) =>
      h.update(
        ReplicaSets,
        `default/${name}`,
        (draft) => void (draft.metadata.labels = { app, 'pod-template-hash': hash }),
      );
    await relabel('other');
    await h.run(1000);
    assert.equal((await h.get(ReplicaSets, `default/${name}`)).metadata.ownerReferences, undefined);
    await relabel('web');
    await h.run(1000);
    assert.equal((await h.get(ReplicaSets, `default/${name}`)).metadata.ownerReferences?.[0]?.name, 'd');
    await h.stop();
  });

  it('adopts a set of its template without an owner', async () => {
    const h = await start();
    await set(h, 2);
    await h.run(500);
    await deploy(h);
    await h.run(1000);
    const sets = await h.list(ReplicaSets);
    assert.deepEqual(
      sets.map(({ metadata }) => [metadata.name, metadata.ownerReferences?.[0]?.name]),
      [['rs', 'd']],
    );
    assert.equal((await names(h)).length, 2);
    await h.stop();
  });

  it('is available with as few as it may do without, once they have lasted', async () => {
    const h = await start();
    const rollingUpdate = { maxUnavailable: 1, maxSurge: 1 };
    await deploy(h, { replicas: 3, minReadySeconds: 10, strategy: { type: 'RollingUpdate', rollingUpdate } });
    await h.run(500, { which: () => false });
    assert.deepEqual(await condition(h, 'Available'), ['False', 'MinimumReplicasUnavailable']);
    const [first, second] = await names(h);
    await h.run(2000, { which: ({ metadata }) => [first, second].includes(metadata.name) });
    assert.deepEqual(await condition(h, 'Available'), ['False', 'MinimumReplicasUnavailable']);
    await h.clock.advance(10_000);
    assert.deepEqual(await condition(h, 'Available'), ['True', 'MinimumReplicasAvailable']);
    await h.stop();
  });

  it('reports the number of terminating pods', async () => {
    const h = await start();
    await deploy(h);
    await h.run(500);
    for (const name of await names(h))
      await h.update<Pod>(Pods, `default/${name}`, (draft) => void (draft.metadata.finalizers = ['test/hold']));
    await h.update(Deployments, 'default/d', (draft) => void (draft.spec!.replicas = 0));
    await h.run(1000);
    const { status } = await h.get(Deployments, 'default/d');
    assert.deepEqual([status?.replicas, status?.terminatingReplicas], [undefined, 2]);
    await h.stop();
  });

  it('scales while it is paused, and updates when it is resumed', async () => {
    const h = await start();
    await deploy(h, { paused: true });
    await h.run(500);
    assert.deepEqual(
      [(await names(h)).length, await condition(h, 'Progressing')],
      [0, ['Unknown', 'DeploymentPaused']],
    );
    await h.update(Deployments, 'default/d', (draft) => void (draft.spec!.paused = false));
    await h.run(1000);
    await h.update(Deployments, 'default/d', (draft) => {
      draft.spec = { ...draft.spec!, paused: true, replicas: 4 };
      draft.spec.template.spec!.containers[0]!.image = 'later';
    });
    await h.run(1000);
    assert.deepEqual(new Set((await h.pods()).map(({ spec }) => spec?.containers[0]?.image)), new Set(['i']));
    assert.equal((await names(h)).length, 4);
    await h.stop();
  });
});
