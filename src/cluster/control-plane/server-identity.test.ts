import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Leases, StorageVersions } from '../../api/gen/resources.ts';
import { startWithAll } from '../../apiserver/all-resources-fixture.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import type { Platform } from '../../platform/platform.ts';
import { createServerIdentity } from './server-identity.ts';

const ADDRESS = '10.0.0.1:6443';

async function setUp() {
  const { storage, platform, server } = await startWithAll([], 'internal.apiserver.k8s.io/v1alpha1=true');
  const away = { isAway: true };
  const ensure: ObjectStore['ensure'] = async (info, object) => {
    if (away.isAway && object.kind === Leases.kind) throw new Error('the store is away');
    return storage.objects.ensure(info, object);
  };
  const objects = new Proxy(storage.objects, {
    get: (target, name) => (name === 'ensure' ? ensure : target[name as keyof ObjectStore].bind(target)),
  });
  const host = { info: async () => ({ hostname: 'host' }) };
  const identity = createServerIdentity({ ...platform, host } as unknown as Platform, { ...storage, objects }, ADDRESS);
  const versions = () => storage.objects.list(StorageVersions);
  return { identity, away, versions, clock: platform.clock, stop: () => platform.clock.drive(server.stop()) };
}

test('storage versions are recorded once the identity lease exists', async () => {
  const { identity, away, versions, clock, stop } = await setUp();
  const started = identity.start(new AbortController().signal);
  await clock.advance(9000);
  assert.deepEqual(versions(), []);
  away.isAway = false;
  await clock.advance(2000);
  await clock.drive(started);
  assert.ok(versions().length > 50);
  identity.stop();
  await stop();
});

test('a server that ends before its lease exists records nothing', async () => {
  const { identity, away, versions, clock, stop } = await setUp();
  const life = new AbortController();
  const started = identity.start(life.signal);
  await clock.advance(9000);
  life.abort();
  away.isAway = false;
  await clock.advance(60_000);
  await clock.drive(started);
  assert.deepEqual(versions(), []);
  await stop();
});
