/** Deletion of objects with several owners, in a real server. Upstream: test/integration/garbagecollector. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigMaps, ReplicationControllers, ReplicaSets, Pods } from '../../api/gen/resources.ts';
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../../api/resource-info.ts';
import { createGarbageCollector } from './garbage-collector.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';

const ref = (owner: KubernetesObject, blockOwnerDeletion?: boolean): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: owner.metadata.name ?? '',
  uid: owner.metadata.uid ?? '',
  ...(blockOwnerDeletion === undefined ? {} : { blockOwnerDeletion }),
});
const made = (h: ServerHarness, name: string, ownerReferences: OwnerReference[] = [], finalizers: string[] = []) =>
  h.create(ConfigMaps, { metadata: { name, ownerReferences, finalizers } });
const there = async (h: ServerHarness): Promise<string[]> =>
  (await h.list(ConfigMaps))
    .flatMap(({ metadata: { name = '', namespace } }) => (namespace === 'default' ? name : []))
    .filter((name) => name !== 'kube-root-ca.crt')
    .toSorted();
const start = (): Promise<ServerHarness> => startServerHarness([createGarbageCollector]);

describe('a dependent', () => {
  it('of an owner that stays does not delay one that is deleted: it loses that reference', async () => {
    const h = await start();
    const [stays, goes] = [await made(h, 'stays'), await made(h, 'goes')];
    await made(h, 'both', [ref(stays), ref(goes, true)]);
    await h.remove(ConfigMaps, 'default/goes', 'Foreground');
    await h.clock.advance(5000);
    assert.deepEqual(await there(h), ['both', 'stays']);
    const { metadata } = await h.get(ConfigMaps, 'default/both');
    assert.deepEqual(
      metadata.ownerReferences?.map(({ name }) => name),
      ['stays'],
    );
    await h.stop();
  });

  for (const [what, block, left] of [
    ['that blocks holds its owner', true, ['dependent', 'owner']],
    ['that does not block goes on alone', false, ['dependent']],
    ['that does not say so does not block', undefined, ['dependent']],
  ] as const)
    it(`${what}, when it is deleted in the foreground`, async () => {
      const h = await start();
      const owner = await made(h, 'owner');
      await made(h, 'dependent', [ref(owner, block)], ['test/hold']);
      await h.remove(ConfigMaps, 'default/owner', 'Foreground');
      await h.clock.advance(5000);
      assert.deepEqual(await there(h), [...left]);
      assert.notEqual((await h.get(ConfigMaps, 'default/dependent')).metadata.deletionTimestamp, undefined);
      await h.update(ConfigMaps, 'default/dependent', (draft) => void (draft.metadata.finalizers = []));
      await h.clock.advance(5000);
      assert.deepEqual(await there(h), []);
      await h.stop();
    });

  it('of an owner that never existed is deleted at once; with another that exists it stays', async () => {
    const h = await start();
    const owner = await made(h, 'owner');
    const nobody = { ...ref(owner), name: 'nobody', uid: 'no-such-uid' };
    await made(h, 'lost', [nobody]);
    await made(h, 'half', [nobody, ref(owner)]);
    await h.clock.advance(5000);
    assert.deepEqual(await there(h), ['half', 'owner']);
    await h.stop();
  });

  it('in a cycle is deleted with it', async () => {
    const h = await start();
    const a = await made(h, 'a');
    const b = await made(h, 'b', [ref(a, true)]);
    await h.update(ConfigMaps, 'default/a', (draft) => void (draft.metadata.ownerReferences = [ref(b, true)]));
    await h.clock.advance(1000);
    await h.remove(ConfigMaps, 'default/a', 'Foreground');
    await h.clock.advance(10_000);
    assert.deepEqual(await there(h), []);
    await h.stop();
  });

  it('of many generations is deleted with the first, whatever the kinds', async () => {
    const h = await start();
    let owner: KubernetesObject = await made(h, 'first');
    for (let generation = 0; generation < 6; generation++)
      owner = await made(h, `later-${generation}`, [ref(owner, true)]);
    await h.remove(ConfigMaps, 'default/first', 'Foreground');
    await h.clock.advance(30_000);
    assert.deepEqual(await there(h), []);
    await h.stop();
  });
});

describe('the default deletion policy of each kind', () => {
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const cases: [what: string, info: ResourceInfo<KubernetesObject>, selector: object, left: string[]][] = [
    ['a ReplicaSet takes its pods along', ReplicaSets as never, { matchLabels: { a: 'b' } }, []],
    ['a ReplicationController leaves them, as early releases did', ReplicationControllers as never, { a: 'b' }, ['p']],
  ];
  for (const [what, info, selector, left] of cases)
    it(what, async () => {
      const h = await start();
      const owner = await h.create(info, { metadata: { name: 'o' }, spec: { replicas: 1, selector, template } });
      const { kind } = info;
      const { name = '', uid = '' } = owner.metadata;
      const ownerReferences = [{ apiVersion: apiVersionOf(info), kind, name, uid, controller: true }];
      await h.create(Pods, { metadata: { name: 'p', ownerReferences }, spec: template.spec });
      await h.clock.advance(1000);
      await h.clock.drive(h.admin.resource(info).delete({ namespace: 'default', name: 'o' }));
      await h.clock.advance(10_000);
      assert.deepEqual(
        (await h.list(Pods)).map(({ metadata }) => metadata.name),
        left,
      );
      await h.stop();
    });
});
