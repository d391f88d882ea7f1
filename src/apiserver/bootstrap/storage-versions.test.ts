/** Storage versions and identity leases against a real API server in memory. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StorageVersion } from '../../api/gen/apiserverinternal-v1alpha1.ts';
import type { Lease } from '../../api/gen/coordination-v1.ts';
import { Leases, StorageVersions } from '../../api/gen/resources.ts';
import { startWithAll } from '../all-resources-fixture.ts';
import { startIdentityLease } from './identity-lease.ts';
import { publishStorageVersions, recordsStorageVersions } from './storage-versions.ts';

const INTERNAL = 'internal.apiserver.k8s.io/v1alpha1';

async function start(runtimeConfig: string) {
  const { storage, platform, server } = await startWithAll([], runtimeConfig);
  const { objects } = storage;
  const deps = { ...storage, clock: platform.clock };
  const versions = (): Record<string, StorageVersion> =>
    Object.fromEntries(objects.list(StorageVersions).map((each) => [each.metadata.name, each]));
  const stop = () => platform.clock.drive(server.stop());
  return { objects, platform, deps, versions, stop };
}

describe('storage versions', () => {
  it('are recorded only where they are served', async () => {
    for (const [config, records] of [
      ['', false],
      [INTERNAL, true],
    ] as const) {
      const { deps, stop } = await start(config);
      assert.equal(recordsStorageVersions(deps), records);
      await stop();
    }
  });

  it('say what each server stores, reads and serves, one record per server', async () => {
    const { deps, versions, platform, stop } = await start(INTERNAL);
    await platform.clock.drive(publishStorageVersions(deps, 'apiserver-a'));
    await platform.clock.drive(publishStorageVersions(deps, 'apiserver-b'));
    const { 'apps.deployments': deployments, 'core.pods': pods, 'resource.k8s.io.deviceclasses': classes } = versions();
    assert.deepEqual(deployments?.status?.storageVersions, [
      {
        apiServerID: 'apiserver-a',
        encodingVersion: 'apps/v1',
        decodableVersions: ['apps/v1'],
        servedVersions: ['apps/v1'],
      },
      {
        apiServerID: 'apiserver-b',
        encodingVersion: 'apps/v1',
        decodableVersions: ['apps/v1'],
        servedVersions: ['apps/v1'],
      },
    ]);
    assert.deepEqual(
      [pods, classes].map((each) => each?.status?.commonEncodingVersion),
      ['v1', 'resource.k8s.io/v1'],
    );
    assert.deepEqual(
      deployments?.status?.conditions?.map(({ type, status, reason }) => [type, status, reason]),
      [['AllEncodingVersionsEqual', 'True', 'CommonEncodingVersionSet']],
    );
    assert.equal(versions()['authentication.k8s.io.tokenreviews'], undefined, 'what is not stored has no version');
    const revisions = (): unknown => Object.values(versions()).map(({ metadata }) => metadata.resourceVersion);
    const settled = revisions();
    await platform.clock.drive(publishStorageVersions(deps, 'apiserver-a'));
    assert.deepEqual(revisions(), settled, 'said once');
    await stop();
  });
});

describe('identity leases', () => {
  const identity = { hostname: 'host', address: '10.0.0.1:6443' };
  const others: [what: string, spec: Lease['spec'], labels: Record<string, string>, stays: boolean][] = [
    [
      'expired',
      { leaseDurationSeconds: 1, renewTime: '2026-01-01T00:00:00.000000Z' },
      { identity: 'kube-apiserver' },
      false,
    ],
    ['without a time', { leaseDurationSeconds: 9999 }, { identity: 'kube-apiserver' }, false],
    [
      'of a server that lives',
      { leaseDurationSeconds: 9999, renewTime: '2026-01-01T00:00:00.000000Z' },
      { identity: 'kube-apiserver' },
      true,
    ],
    ['of somebody else', { leaseDurationSeconds: 1, renewTime: '2026-01-01T00:00:00.000000Z' }, {}, true],
  ];
  for (const [what, spec, { identity: label }, stays] of others)
    it(`one ${what} ${stays ? 'stays' : 'goes'} within the hour; the own is renewed`, async () => {
      const { objects, platform, stop } = await start('');
      const labels: Record<string, string> = label === undefined ? {} : { 'apiserver.kubernetes.io/identity': label };
      const metadata = { namespace: 'kube-system', name: 'other', labels };
      await objects.ensure(Leases, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata,
        ...(spec && { spec }),
      });
      const lease = await platform.clock.drive(startIdentityLease({ ...platform, objects }, identity));
      assert.match(lease.name, /^apiserver-[0-9a-z]{26}$/);
      await platform.clock.advance(3_601_000);
      const names = objects.list(Leases, 'kube-system').map(({ metadata: { name } }) => name);
      assert.deepEqual(names.toSorted(), stays ? [lease.name, 'other'].toSorted() : [lease.name]);
      const own = objects.get(Leases, 'kube-system', lease.name);
      assert.equal(own?.metadata.labels?.['apiserver.kubernetes.io/identity'], 'kube-apiserver');
      assert.equal(own?.spec?.renewTime, '2026-01-01T01:00:00.000000Z');
      lease.stop();
      await stop();
    });
});
