import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigMaps, Deployments, Events, Namespaces, Nodes, Pods, ReplicaSets } from '../../api/gen/resources.ts';
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../../api/resource-info.ts';
import { startHarness, type Harness } from '../controllers-fixture.ts';
import { createGarbageCollector } from './garbage-collector.ts';
import { startServerHarness } from '../server-harness-fixture.ts';

const start = (before?: (api: Harness['api']) => void): Harness =>
  startHarness([createGarbageCollector], before === undefined ? {} : { before });

const owner = (info: ResourceInfo, object: KubernetesObject, block = true): OwnerReference => ({
  apiVersion: apiVersionOf(info),
  kind: info.kind,
  name: object.metadata.name ?? '',
  uid: object.metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: block,
});
const object = (name: string, owners: OwnerReference[] = [], namespace = 'default'): KubernetesObject => ({
  metadata: { namespace, name, ...(owners.length === 0 ? {} : { ownerReferences: owners }) },
});
const missing: OwnerReference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone-uid' };
const names = (h: Harness, info: ResourceInfo<KubernetesObject>) =>
  h.api
    .objects(info)
    .map((o) => o.metadata.name)
    .sort();
const anyInfo = (info: unknown) => info as ResourceInfo<KubernetesObject>;
const [D, R, P, C] = [Deployments, ReplicaSets, Pods, ConfigMaps].map(anyInfo) as [
  ResourceInfo<KubernetesObject>,
  ResourceInfo<KubernetesObject>,
  ResourceInfo<KubernetesObject>,
  ResourceInfo<KubernetesObject>,
];

function seedTree(api: Harness['api']): void {
  const deployment = api.seed(D, object('d'));
  const set = api.seed(R, object('r', [owner(D, deployment)]));
  api.seed(P, object('p1', [owner(R, set)]));
  api.seed(P, object('p2', [owner(R, set)]));
  api.seed(P, object('alone'));
}
const remove = (h: Harness, path: string, propagationPolicy: string) =>
  h.api.handler({
    method: 'DELETE',
    path,
    query: '',
    headers: {},
    remoteAddress: '',
    wantsObjects: true,
    wantsUpgrade: false,
    body: { kind: 'object', object: { propagationPolicy } },
    signal: new AbortController().signal,
  });
const DEPLOYMENT_PATH = '/apis/apps/v1/namespaces/default/deployments/d';

describe('garbage collector', () => {
  it('background: dependents of dependents go after the owner', async () => {
    const h = start(seedTree);
    await h.clock.advance(1000);
    assert.deepEqual(names(h, P), ['alone', 'p1', 'p2']);
    await remove(h, DEPLOYMENT_PATH, 'Background');
    assert.deepEqual(names(h, D), []);
    await h.clock.advance(5000);
    assert.deepEqual([names(h, R), names(h, P)], [[], ['alone']]);
    await h.stop();
  });

  it('foreground: the owner stays until its blocking dependents are gone', async () => {
    const h = start(seedTree);
    h.api.modify(P, 'default/p1', (pod) => ({
      ...pod,
      metadata: { ...pod.metadata, finalizers: ['example.com/hold'] },
    }));
    await h.clock.advance(1000);
    await remove(h, DEPLOYMENT_PATH, 'Foreground');
    await h.clock.advance(5000);
    assert.deepEqual([names(h, D), names(h, R), names(h, P)], [['d'], ['r'], ['alone', 'p1']]);
    h.api.remove(P, 'default/p1');
    await h.clock.advance(5000);
    assert.deepEqual([names(h, D), names(h, R), names(h, P)], [[], [], ['alone']]);
    await h.stop();
  });

  it('orphan: only the owner is deleted, and its dependents lose the reference', async () => {
    const h = start(seedTree);
    await h.clock.advance(1000);
    await remove(h, DEPLOYMENT_PATH, 'Orphan');
    await h.clock.advance(5000);
    assert.deepEqual([names(h, D), names(h, R), names(h, P)], [[], ['r'], ['alone', 'p1', 'p2']]);
    assert.equal(h.api.objects(R)[0]?.metadata.ownerReferences, undefined);
    await h.stop();
  });

  it('deletes after a restart objects whose owner is gone, and identifies owners by uid only', async () => {
    const h = start((api) => {
      const now = api.seed(C, object('owner'));
      api.seed(P, object('good', [owner(C, now)]));
      api.seed(P, object('stale', [{ ...owner(C, now), uid: 'uid-of-an-older-owner' }]));
      api.seed(
        P,
        object('half', [
          { ...owner(C, now), uid: 'uid-of-an-older-owner' },
          { ...owner(C, now), controller: false },
        ]),
      );
    });
    await h.clock.advance(5000);
    assert.deepEqual(names(h, P), ['good', 'half']);
    assert.equal(h.api.objects(P).find((p) => p.metadata.name === 'half')?.metadata.ownerReferences?.length, 1);
    await h.stop();
  });

  it('ignores an owner in another namespace, and reports that', async () => {
    const h = start((api) => {
      const other = api.seed(C, object('owner', [], 'other'));
      api.seed(P, object('lost', [owner(C, other)]));
    });
    await h.clock.advance(5000);
    assert.deepEqual(names(h, P), []);
    assert.ok(
      h.events().some((text) => text.startsWith('Warning OwnerRefInvalidNamespace')),
      h.events().join(),
    );
    await h.stop();
  });

  // References that any user with create rights may write: the uid of another object, a wrong name or kind.
  const wrongClaims: readonly Partial<OwnerReference>[] = [
    { kind: 'ConfigMap', apiVersion: 'v1' },
    { name: 'nobody' },
    { kind: 'ReplicaSet' },
  ];
  for (const wrong of wrongClaims) {
    const claim = JSON.stringify(wrong);
    it(`an owner is not absent for others since one object claims it as ${claim}`, async () => {
      const h = start(seedTree);
      const deployment = h.api.objects(D)[0]!;
      const second = h.api.seed(C, object('second'));
      h.api.seed(R, object('both', [owner(D, deployment), { ...owner(C, second), controller: false }]));
      await h.clock.advance(1000);
      h.api.seed(C, object('liar', [{ ...owner(D, deployment), ...wrong }, missing]));
      await h.clock.advance(1000);
      assert.deepEqual(names(h, C), ['second']);
      await remove(h, '/api/v1/namespaces/default/configmaps/second', 'Background');
      await h.clock.advance(5000);
      assert.deepEqual(names(h, R), ['both', 'r']);
      await h.stop();
    });

    it(`an owner seen after an object that claims it as ${claim} keeps its dependents`, async () => {
      const h = start();
      await h.clock.advance(1000);
      const reference: OwnerReference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'late', uid: 'late-uid' };
      h.api.seed(C, object('liar', [{ ...reference, ...wrong }]));
      h.api.seed(R, object('r', [reference]));
      h.api.seed(D, { metadata: { ...object('late').metadata, uid: 'late-uid' } });
      await h.clock.advance(60_000);
      assert.deepEqual([names(h, C), names(h, R)], [[], ['r']]);
      await remove(h, '/apis/apps/v1/namespaces/default/deployments/late', 'Background');
      await h.clock.advance(5000);
      assert.deepEqual(names(h, R), []);
      await h.stop();
    });
  }

  it('never collects a cluster-scoped object for a namespaced owner', async () => {
    const h = start((api) => {
      const info = anyInfo(Nodes);
      api.seed(info, {
        metadata: { name: 'n', ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'x' }] },
      });
    });
    await h.clock.advance(60_000);
    assert.deepEqual(names(h, anyInfo(Nodes)), ['n']);
    assert.deepEqual(names(h, anyInfo(Namespaces)), []);
    await h.stop();
  });

  it('waits for kinds that are not served', async () => {
    const h = start(
      (api) => void api.seed(P, object('p', [{ apiVersion: 'example.com/v1', kind: 'Widget', name: 'w', uid: 'x' }])),
    );
    await h.clock.advance(60_000);
    assert.deepEqual(names(h, P), ['p']);
    await h.stop();
  });

  it('reads an owner of a kind without a watch once for all its dependents, until it is gone', async () => {
    const event = anyInfo(Events);
    const h = start((api) => {
      const reference = owner(event, api.seed(event, object('e')));
      for (let i = 0; i < 50; i++) api.seed(C, object(`c${i}`, [reference]));
    });
    await h.clock.advance(60_000);
    const before = h.api.requests.length;
    await h.clock.advance(600_000);
    const reads = h.api.requests.slice(before).filter(({ path }) => /configmaps\/|events\//.test(path));
    assert.deepEqual([...new Set(reads.map(({ path }) => path))], ['/api/v1/namespaces/default/events/e']);
    assert.equal(names(h, C).length, 50);
    h.api.remove(event, 'default/e');
    await h.clock.advance(2_000_000);
    assert.deepEqual(names(h, C), []);
    await h.stop();
  });

  for (const policy of ['Foreground', 'Orphan'] as const)
    it(`${policy}: an object with a finalizer of another writer is processed at each deletion`, async () => {
      const h = await startServerHarness([createGarbageCollector]);
      await h.create(ConfigMaps, { metadata: { name: 'kept', finalizers: ['test/hold'] } });
      for (let deletion = 0; deletion < 3; deletion++) {
        await h.remove(ConfigMaps, 'default/kept', policy);
        await h.clock.advance(1000);
        assert.deepEqual((await h.get(ConfigMaps, 'default/kept')).metadata.finalizers, ['test/hold']);
      }
      await h.stop();
    });
});
