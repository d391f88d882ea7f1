import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ServerStorageVersion, StorageVersion } from '../../api/gen/apiserverinternal-v1alpha1.ts';
import { Leases, StorageVersions } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import { statusOfServers } from '../../component-helpers/storage-versions.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';
import { createStorageVersionGcController } from './storage-version-gc-controller.ts';

const record = (apiServerID: string, encodingVersion = 'apps/v1'): ServerStorageVersion => ({
  apiServerID,
  encodingVersion,
  decodableVersions: [encodingVersion],
});

async function start(): Promise<ServerHarness> {
  const h = await startServerHarness([createStorageVersionGcController]);
  await lease(h, 'apiserver-a', 'kube-apiserver');
  await lease(h, 'apiserver-b', 'kube-apiserver');
  await lease(h, 'somebody', undefined);
  return h;
}

async function lease(h: ServerHarness, name: string, identity: string | undefined): Promise<void> {
  const labels = identity === undefined ? {} : { 'apiserver.kubernetes.io/identity': identity };
  await h.create(Leases, { metadata: { namespace: 'kube-system', name, labels }, spec: { holderIdentity: name } });
}

async function version(h: ServerHarness, ...records: ServerStorageVersion[]): Promise<void> {
  await h.create(StorageVersions, { metadata: { name: 'apps.deployments' }, spec: {} });
  await h.update(
    StorageVersions,
    'apps.deployments',
    (draft) => void (draft.status = statusOfServers(draft, records, h.clock.nowMs())),
    'status',
  );
  await h.clock.advance(1000);
}

const servers = async (h: ServerHarness): Promise<string[] | undefined> =>
  (await h.list(StorageVersions))[0]?.status?.storageVersions?.map(({ apiServerID }) => apiServerID);

describe('storage version garbage collector', () => {
  const cases: [what: string, records: string[], left: string[] | undefined][] = [
    ['servers with a lease stay', ['apiserver-a', 'apiserver-b'], ['apiserver-a', 'apiserver-b']],
    ['one without goes', ['apiserver-a', 'apiserver-gone'], ['apiserver-a']],
    ['a lease that is no API server does not count', ['apiserver-a', 'somebody'], ['apiserver-a']],
    ['of none the object is left', ['apiserver-gone', 'somebody'], undefined],
  ];
  for (const [what, records, left] of cases)
    it(what, async () => {
      const h = await start();
      await version(h, ...records.map((id) => record(id)));
      assert.deepEqual(await servers(h), left);
      await h.stop();
    });

  it('follows the leases, and the common version changes with the remaining servers', async () => {
    const h = await start();
    await version(h, record('apiserver-a'), record('apiserver-b', 'apps/v1beta1'));
    const status = async () => (await h.list(StorageVersions))[0]?.status;
    const told = async () => {
      const now = await status();
      return [now?.commonEncodingVersion, now?.conditions?.[0]?.status, now?.conditions?.[0]?.reason];
    };
    assert.deepEqual(await told(), [undefined, 'False', 'CommonEncodingVersionUnset']);
    await h.remove(Leases, 'kube-system/apiserver-b');
    await h.clock.advance(1000);
    assert.deepEqual(await servers(h), ['apiserver-a']);
    assert.deepEqual(await told(), ['apps/v1', 'True', 'CommonEncodingVersionSet']);
    await h.remove(Leases, 'kube-system/apiserver-a');
    await h.clock.advance(1000);
    assert.deepEqual(await h.list(StorageVersions), []);
    await h.stop();
  });
});

describe('the common version of several servers', () => {
  const at = (ms: number): string => formatTime(ms);
  const of = (status: StorageVersion['status']) => ({ metadata: { name: 'v' }, ...(status && { status }) });
  const before = statusOfServers(of(undefined), [record('a')], 1000);
  const cases: [what: string, records: ServerStorageVersion[], common: string | undefined, since: string][] = [
    ['the same: since then', [record('a'), record('b')], 'apps/v1', at(1000)],
    ['another together: since now', [record('a', 'apps/v2')], 'apps/v2', at(5000)],
    ['this and that: nothing in common', [record('a'), record('b', 'apps/v2')], undefined, at(5000)],
  ];
  for (const [what, records, common, since] of cases)
    it(what, () => {
      const { commonEncodingVersion, conditions } = statusOfServers(of(before), records, 5000);
      assert.deepEqual([commonEncodingVersion, conditions?.[0]?.lastTransitionTime], [common, since]);
    });
});
