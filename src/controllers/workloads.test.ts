import { addInt64 } from '../api/int64.ts';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Deployments, Pods, ReplicaSets } from '../api/gen/resources.ts';
import type { Deployment, ReplicaSet } from '../api/gen/apps-v1.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { forbidden } from '../api/status-error.ts';
import { computePodTemplateHash } from '../component-helpers/pod-template-hash.ts';
import { replicaSetFlavour } from './replicaset/flavours.ts';
import { createReplicaController } from './replicaset/replicaset-controller.ts';
import { startHarness, type Harness } from './controllers-fixture.ts';
import { createDeploymentController } from './deployment/deployment-controller.ts';

const start = (): Harness =>
  startHarness([(deps) => createReplicaController(deps, replicaSetFlavour), createDeploymentController]);

function web(replicas: number, image = 'v1', spec: Partial<NonNullable<Deployment['spec']>> = {}): Deployment {
  return {
    metadata: { namespace: 'default', name: 'web', generation: 1 },
    spec: {
      replicas,
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 10,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image }] } },
      ...spec,
    },
  };
}
const change = (h: Harness, spec: Partial<NonNullable<Deployment['spec']>>) =>
  h.api.modify<Deployment>(Deployments, 'default/web', (old) => ({
    ...old,
    metadata: { ...old.metadata, generation: addInt64(old.metadata.generation ?? 1, 1) },
    spec: { ...old.spec, ...spec } as never,
  }));
const template = (image: string) => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image }] },
});
const deployment = (h: Harness) => h.api.objects(Deployments)[0] as Deployment;
const sizes = (h: Harness) =>
  Object.fromEntries(
    h.api
      .objects(ReplicaSets)
      .map((set: ReplicaSet) => [set.spec?.template?.spec?.containers[0]?.image, set.spec?.replicas]),
  );
const images = (h: Harness) =>
  h
    .pods()
    .map((pod) => pod.spec?.containers[0]?.image)
    .sort();
const cond = (h: Harness, type: string) => deployment(h).status?.conditions?.find((c) => c.type === type);

describe('deployment', () => {
  it('creates a ReplicaSet, its pods, and reports availability', async () => {
    const h = start();
    h.api.seed(Deployments, web(3));
    await h.run(1000);
    const [set] = h.api.objects(ReplicaSets);
    assert.match(set?.metadata.name ?? '', /^web-[bcdfghjklmnpqrstvwxz2456789]+$/);
    assert.equal(set?.metadata.labels?.['pod-template-hash'], set?.metadata.name?.slice(4));
    assert.equal(set?.metadata.annotations?.['deployment.kubernetes.io/max-replicas'], '4');
    assert.equal(h.pods().length, 3);
    const { status, metadata } = deployment(h);
    assert.deepEqual(
      [
        status?.replicas,
        status?.updatedReplicas,
        status?.readyReplicas,
        status?.availableReplicas,
        status?.unavailableReplicas,
      ],
      [3, 3, 3, 3, undefined],
    );
    assert.equal(metadata.annotations?.['deployment.kubernetes.io/revision'], '1');
    assert.deepEqual(
      [cond(h, 'Available')?.reason, cond(h, 'Progressing')?.reason],
      ['MinimumReplicasAvailable', 'NewReplicaSetAvailable'],
    );
    assert.equal(cond(h, 'Progressing')?.message, `ReplicaSet "${set?.metadata.name}" has successfully progressed.`);
    assert.ok(
      h.events().includes(`Normal ScalingReplicaSet Scaled up replica set ${set?.metadata.name} from 0 to 3`),
      h.events().join('\n'),
    );
    await h.stop();
  });

  it('writes nothing more once settled', async () => {
    const h = start();
    h.api.seed(Deployments, web(3));
    await h.run(1000);
    const writes = () => h.api.requests.filter((r) => r.method !== 'GET').length;
    const before = writes();
    await h.clock.advance(3_600_000);
    assert.equal(writes(), before);
    await h.stop();
  });

  it('rolls within surge and availability, and keeps the old set for undo', async () => {
    const h = start();
    h.api.seed(Deployments, web(10));
    await h.run(1000);
    change(h, { template: template('v2') });
    for (let i = 0; i < 60; i++) {
      await h.run(50, { stepMs: 50 });
      const all = h.api.objects(Pods).filter((p) => p.metadata.deletionTimestamp === undefined);
      const readyPods = all.filter((p) => p.status?.phase === 'Running');
      assert.ok(all.length <= 13, `${all.length} pods`);
      assert.ok(readyPods.length >= 8, `${readyPods.length} ready`);
    }
    assert.deepEqual(sizes(h), { v1: 0, v2: 10 });
    assert.equal(deployment(h).metadata.annotations?.['deployment.kubernetes.io/revision'], '2');
    change(h, { template: template('v1') });
    await h.run(3000);
    assert.deepEqual(sizes(h), { v1: 10, v2: 0 });
    const v1 = h.api.objects(ReplicaSets).find((set) => set.spec?.replicas === 10);
    assert.equal(v1?.metadata.annotations?.['deployment.kubernetes.io/revision'], '3');
    assert.equal(v1?.metadata.annotations?.['deployment.kubernetes.io/revision-history'], '1');
    await h.stop();
  });

  it('counts revisions beyond the numbers a double holds exactly', async () => {
    const h = start();
    h.api.seed(Deployments, web(1));
    await h.run(1000);
    h.api.modify<ReplicaSet>(ReplicaSets, `default/${h.api.objects(ReplicaSets)[0]?.metadata.name}`, (set) => ({
      ...set,
      metadata: {
        ...set.metadata,
        annotations: { ...set.metadata.annotations, 'deployment.kubernetes.io/revision': '3546343826724305832' },
      },
    }));
    change(h, { template: template('v2') });
    await h.run(1000);
    assert.equal(deployment(h).metadata.annotations?.['deployment.kubernetes.io/revision'], '3546343826724305833');
    await h.stop();
  });

  it('recreates: all old pods are gone before the first new one', async () => {
    const h = start();
    h.api.seed(Deployments, web(3, 'v1', { strategy: { type: 'Recreate' } }));
    await h.run(1000);
    change(h, { template: template('v2') });
    await h.clock.advance(500); // Deleted, but terminating pods still run: the fake removes them at once, so look at the order.
    await h.run(1000);
    assert.deepEqual(images(h), ['v2', 'v2', 'v2']);
    const order = h.api.requests
      .filter((r) => (r.method === 'DELETE' || r.method === 'POST') && r.path.includes('/pods'))
      .map((r) => r.method);
    assert.deepEqual(order, ['POST', 'POST', 'POST', 'DELETE', 'DELETE', 'DELETE', 'POST', 'POST', 'POST']);
    await h.stop();
  });

  it('stops at the progress deadline and reports that', async () => {
    const h = start();
    h.api.seed(Deployments, web(4, 'v1', { progressDeadlineSeconds: 60 }));
    await h.run(1000);
    change(h, { template: template('bad') });
    await h.run(70_000, { which: (pod) => pod.spec?.containers[0]?.image !== 'bad', stepMs: 1000 });
    assert.deepEqual(
      [cond(h, 'Progressing')?.status, cond(h, 'Progressing')?.reason],
      ['False', 'ProgressDeadlineExceeded'],
    );
    assert.deepEqual(sizes(h), { v1: 3, bad: 2 });
    await h.stop();
  });

  it('scales both sets in proportion in the middle of a rollout', async () => {
    const h = start();
    h.api.seed(
      Deployments,
      web(10, 'v1', { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } } }),
    );
    await h.run(1000);
    const onlyOld = { which: (pod: Pod) => pod.spec?.containers[0]?.image === 'v1' };
    change(h, { template: template('v2') });
    await h.run(1000, onlyOld);
    assert.deepEqual(sizes(h), { v1: 8, v2: 5 });
    change(h, { replicas: 15 });
    await h.run(1000, onlyOld);
    assert.deepEqual(sizes(h), { v1: 11, v2: 7 });
    await h.stop();
  });

  it('does not roll while paused, but scales', async () => {
    const h = start();
    h.api.seed(Deployments, web(2));
    await h.run(1000);
    change(h, { paused: true, template: template('v2'), replicas: 4 });
    await h.run(1000);
    assert.deepEqual(sizes(h), { v1: 4 });
    assert.equal(cond(h, 'Progressing')?.reason, 'DeploymentPaused');
    change(h, { paused: false });
    await h.run(2000);
    assert.deepEqual(sizes(h), { v1: 0, v2: 4 });
    await h.stop();
  });

  it('gets around a set of another that has the name its own would have', async () => {
    const h = start();
    const wanted = web(2);
    const hash = computePodTemplateHash(wanted.spec!.template);
    const name = `web-${hash}`;
    h.api.seed(ReplicaSets, {
      metadata: { namespace: 'default', name },
      spec: { replicas: 0, selector: { matchLabels: { app: 'other' } }, template: template('other') },
    });
    h.api.seed(Deployments, wanted);
    await h.run(5000);
    assert.equal(deployment(h).status?.collisionCount, 1);
    const own = h.api.objects(ReplicaSets).filter((set: ReplicaSet) => set.metadata.ownerReferences !== undefined);
    assert.deepEqual(
      own.map((set: ReplicaSet) => set.metadata.name),
      [`web-${computePodTemplateHash(wanted.spec!.template, 1)}`],
    );
    assert.equal(h.pods().length, 2);
    await h.stop();
  });

  it('keeps the number of old sets in the history limit', async () => {
    const h = start();
    h.api.seed(Deployments, web(1, 'v1', { revisionHistoryLimit: 1 }));
    await h.run(1000);
    for (const image of ['v2', 'v3']) {
      change(h, { template: template(image) });
      await h.run(2000);
    }
    assert.deepEqual(sizes(h), { v2: 0, v3: 1 });
    await h.stop();
  });
});

describe('replicaset', () => {
  const set = (replicas: number): ReplicaSet => ({
    metadata: { namespace: 'default', name: 'rs', generation: 1 },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: template('v1') },
  });

  it('adopts matching orphans, releases pods that no longer match, replaces lost ones', async () => {
    const h = start();
    h.api.seed(Pods, {
      metadata: { namespace: 'default', name: 'orphan', labels: { app: 'web' } },
      spec: { containers: [] },
    } as Pod);
    h.api.seed(ReplicaSets, set(2));
    await h.run(500);
    assert.equal(h.pods().length, 2);
    assert.equal(h.pods().find((p) => p.metadata.name === 'orphan')?.metadata.ownerReferences?.[0]?.name, 'rs');
    h.api.modify<Pod>(Pods, 'default/orphan', (old) => ({
      ...old,
      metadata: { ...old.metadata, labels: { app: 'other' } },
    }));
    await h.run(500);
    assert.equal(h.pods().length, 3);
    const victim = h.pods().find((p) => p.metadata.name !== 'orphan');
    h.api.remove(Pods, `default/${victim?.metadata.name}`);
    await h.run(500);
    assert.equal(h.pods().length, 3);
    assert.equal(h.api.objects(ReplicaSets)[0]?.status?.availableReplicas, 2);
    await h.stop();
  });

  it('reports why pods cannot be created, and tries few at a time', async () => {
    const h = start();
    h.api.intercept = ({ method, path }) => {
      if (method === 'POST' && path.endsWith('/pods'))
        throw forbidden({ group: '', resource: 'pods' }, 'rs-x', 'exceeded quota: q');
    };
    h.api.seed(ReplicaSets, set(50));
    await h.clock.advance(4);
    assert.ok(h.api.requests.filter((r) => r.method === 'POST' && r.path.endsWith('/pods')).length <= 2);
    await h.clock.settle();
    const condition = h.api.objects(ReplicaSets)[0]?.status?.conditions?.[0];
    assert.deepEqual(
      [condition?.type, condition?.reason, condition?.message],
      ['ReplicaFailure', 'FailedCreate', 'pods "rs-x" is forbidden: exceeded quota: q'],
    );
    h.api.intercept = undefined;
    await h.run(60_000, { stepMs: 1000 });
    assert.equal(h.pods().length, 50);
    assert.equal(h.api.objects(ReplicaSets)[0]?.status?.conditions, undefined);
    await h.stop();
  });

  it('counts a pod as available only after minReadySeconds', async () => {
    const h = start();
    h.api.seed(ReplicaSets, { ...set(1), spec: { ...set(1).spec, minReadySeconds: 30 } as never });
    await h.run(2000);
    const status = () => h.api.objects(ReplicaSets)[0]?.status;
    assert.deepEqual([status()?.readyReplicas, status()?.availableReplicas], [1, undefined]);
    await h.clock.advance(30_000);
    assert.deepEqual([status()?.readyReplicas, status()?.availableReplicas], [1, 1]);
    await h.stop();
  });
});
