/** Storage versions against a real API server in memory. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StorageVersion } from '../../api/gen/apiserverinternal-v1alpha1.ts';
import { StorageVersions } from '../../api/gen/resources.ts';
import { startWithAll } from '../all-resources-fixture.ts';
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

  it('list the stored, decodable and served versions, one record per server', async () => {
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
