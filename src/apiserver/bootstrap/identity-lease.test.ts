/** Identity leases against a real API server in memory. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Lease } from '../../api/gen/coordination-v1.ts';
import { Leases } from '../../api/gen/resources.ts';
import { conflict } from '../../api/status-error.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { startWithAll } from '../all-resources-fixture.ts';
import { startIdentityLease } from './identity-lease.ts';

const LABEL = 'apiserver.kubernetes.io/identity';
const server = { [LABEL]: 'kube-apiserver' };
const HOST = { hostname: 'host', address: '10.0.0.1:6443' };

/** `wrap`: makes the lease's store from the server's objects. */
async function start(wrap: (objects: ObjectStore) => ObjectStore = (objects) => objects) {
  const { storage, platform, server: apiServer } = await startWithAll();
  const objects = wrap(storage.objects);
  const leases = (): Lease[] =>
    objects.list(Leases, 'kube-system').toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const put = (lease: Partial<Lease>): Promise<Lease> =>
    objects.ensure(Leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: {}, ...lease });
  return {
    platform,
    objects,
    leases,
    put,
    async serve(identity = HOST) {
      const lease = startIdentityLease({ ...platform, objects }, identity);
      await platform.clock.drive(lease.stands);
      return lease;
    },
    stop: () => platform.clock.drive(apiServer.stop()),
  };
}

function changed(objects: ObjectStore, changes: Partial<ObjectStore>): ObjectStore {
  const get = (target: ObjectStore, name: keyof ObjectStore): unknown => changes[name] ?? target[name].bind(target);
  return new Proxy(objects, { get: (target, name) => get(target, name as keyof ObjectStore) });
}

function nameOf({ metadata }: Lease): string {
  return metadata.name ?? '';
}

describe('the identity lease', () => {
  it('names the server, and is renewed every ten seconds until the server stops', async () => {
    const { serve, leases, platform, stop } = await start();
    const own = await serve();
    const [lease] = leases();
    assert.match(own.name, /^apiserver-[0-9a-z]{26}$/);
    assert.equal(lease?.metadata.name, own.name);
    assert.deepEqual(lease?.metadata.labels, { [LABEL]: 'kube-apiserver', 'kubernetes.io/hostname': 'host' });
    assert.match(lease?.spec?.holderIdentity ?? '', new RegExp(`^${own.name}_[0-9a-f-]{36}$`));
    assert.equal(lease?.spec?.leaseDurationSeconds, 3600);
    assert.equal(lease?.spec?.renewTime, '2026-01-01T00:00:00.000000Z');
    await platform.clock.advance(25_000);
    assert.equal(leases()[0]?.spec?.renewTime, '2026-01-01T00:00:20.000000Z');
    assert.equal(leases()[0]?.spec?.holderIdentity, lease?.spec?.holderIdentity);
    own.stop();
    await platform.clock.advance(60_000);
    assert.equal(leases()[0]?.spec?.renewTime, '2026-01-01T00:00:20.000000Z', 'it is left to the others');
    await stop();
  });

  it('is taken over by the next process of the server, and separate from those of others', async () => {
    const { serve, leases, stop } = await start();
    const first = await serve();
    const holder = leases()[0]?.spec?.holderIdentity;
    first.stop();
    const second = await serve();
    assert.equal(second.name, first.name);
    assert.equal(leases().length, 1);
    assert.notEqual(leases()[0]?.spec?.holderIdentity, holder);
    const beside = [await serve({ ...HOST, address: '10.0.0.2:6443' }), await serve({ ...HOST, hostname: 'other' })];
    assert.equal(new Set([second, ...beside].map(({ name }) => name)).size, 3);
    assert.equal(leases().length, 3);
    for (const lease of [second, ...beside]) lease.stop();
    await stop();
  });

  it('of a stopped server is deleted when another starts, once it has expired', async () => {
    const { serve, leases, platform, stop } = await start();
    const gone = await serve();
    gone.stop();
    const starts = async (hostname: string): Promise<string[]> => {
      const other = await serve({ ...HOST, hostname });
      await platform.clock.advance(1);
      other.stop();
      return leases().map(nameOf);
    };
    await platform.clock.advance(3_599_000);
    assert.equal((await starts('a')).includes(gone.name), true);
    await platform.clock.advance(2000);
    assert.equal((await starts('b')).includes(gone.name), false);
    await stop();
  });

  it('that expired while its server was away is renewed by it, and those of others go', async () => {
    const { serve, put, leases, platform, stop } = await start();
    const first = await serve();
    first.stop();
    for (const name of ['apiserver-0', 'apiserver-z'])
      await put({ metadata: { namespace: 'kube-system', name, labels: server } });
    await platform.clock.advance(3_601_000);
    const second = await serve();
    await platform.clock.advance(1);
    assert.deepEqual(leases().map(nameOf), [first.name]);
    assert.match(leases()[0]?.spec?.renewTime ?? '', /^2026-01-01T01:00:01/);
    second.stop();
    await stop();
  });

  it('of others that cannot be removed does not keep the rest', async () => {
    const failing = (objects: ObjectStore): ObjectStore =>
      changed(objects, {
        async delete(resource, of, ...rest) {
          if (of.name === 'a') throw conflict(Leases, 'a');
          if (of.name === 'b') throw new Error('the store is away');
          return objects.delete(resource, of, ...rest);
        },
      });
    const { serve, put, leases, platform, stop } = await start(failing);
    for (const name of ['a', 'b', 'c']) await put({ metadata: { namespace: 'kube-system', name, labels: server } });
    const own = await serve();
    await platform.clock.advance(1);
    assert.deepEqual(leases().map(nameOf), ['a', own.name, 'b'].toSorted());
    own.stop();
    await stop();
  });

  it('exists only once it is stored; a server that stops before learns that it was never stored', async () => {
    let isAway = true;
    const failing = (objects: ObjectStore): ObjectStore =>
      changed(objects, {
        ensure: (...args) => (isAway ? Promise.reject(new Error('the store is away')) : objects.ensure(...args)),
      });
    const { objects, leases, platform, stop } = await start(failing);
    const told: boolean[] = [];
    const begin = () => {
      const lease = startIdentityLease({ ...platform, objects }, HOST);
      void lease.stands.then((stands) => told.push(stands));
      return lease;
    };
    const never = begin();
    await platform.clock.advance(9000);
    never.stop();
    await platform.clock.advance(1);
    assert.deepEqual(told, [false]);
    const own = begin();
    await platform.clock.advance(9000);
    isAway = false;
    assert.deepEqual([told, leases()], [[false], []]);
    await platform.clock.advance(2000);
    assert.deepEqual([told, leases().map(nameOf)], [[false, true], [own.name]]);
    own.stop();
    await stop();
  });

  const old = '2026-01-01T00:00:00.000000Z';
  const others: [what: string, spec: Lease['spec'], labels: Record<string, string>, stays: boolean][] = [
    ['expired', { leaseDurationSeconds: 1, renewTime: old }, server, false],
    ['without a time', { leaseDurationSeconds: 9999 }, server, false],
    ['without a duration', { renewTime: old }, server, false],
    ['of a server that lives', { leaseDurationSeconds: 9999, renewTime: old }, server, true],
    ['of somebody else', { leaseDurationSeconds: 1, renewTime: old }, {}, true],
  ];
  for (const [what, spec, labels, stays] of others)
    it(`one ${what} ${stays ? 'stays' : 'goes'} within the hour`, async () => {
      const { serve, put, leases, platform, stop } = await start();
      const own = await serve();
      await put({ metadata: { namespace: 'kube-system', name: 'other', labels }, ...(spec && { spec }) });
      await platform.clock.advance(3_601_000);
      assert.deepEqual(leases().map(nameOf), stays ? [own.name, 'other'].toSorted() : [own.name]);
      own.stop();
      await stop();
    });
});
