import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../api/gen/resource-v1.ts';
import type { Files } from '../../platform/files.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createClaimInfos } from './claim-info.ts';
import { createDraManager } from './dra-manager.ts';

const names = Array.from({ length: 500 }, (_, at) => `claim-${at}`);
const pod: Pod = {
  metadata: { name: 'pod', namespace: 'default', uid: 'pod-uid' },
  spec: {
    containers: [{ name: 'c', image: 'i', resources: { claims: names.map((name) => ({ name })) } }],
    resourceClaims: names.map((name) => ({ name, resourceClaimName: name })),
  },
};

const allocated = (name: string): ResourceClaim => ({
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaim',
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: {},
  status: { allocation: {}, reservedFor: [{ resource: 'pods', name: 'pod', uid: 'pod-uid' }] },
});

test('claims of one pod that no driver has devices for are recorded and removed together', async () => {
  const { files, log } = createSimPlatform();
  let writes = 0;
  const counting = {
    exists: (path: string) => files.exists(path),
    readText: (path: string) => files.readText(path),
    writeFileAtomic: (...args: Parameters<Files['writeFileAtomic']>) => {
      writes++;
      return files.writeFileAtomic(...args);
    },
  } as Files;
  const infos = createClaimInfos(counting, '/dra_manager_state');
  const manager = createDraManager({
    connect: () => assert.fail('no driver is called'),
    log,
    infos,
    getClaim: async (_namespace, name) => allocated(name),
    wiper: { driverGone: () => undefined, driverBack: () => undefined },
  });
  await manager.prepare(pod);
  assert.equal(writes, 2, 'before and after the calls of drivers');
  await manager.prepare(pod);
  assert.equal(writes, 2, 'prepared claims are not written again');
  const [container] = pod.spec!.containers;
  assert.ok(manager.claimResources(pod, container!).every(({ known }) => known));
  const again = createClaimInfos(counting, '/dra_manager_state');
  await again.load();
  assert.equal(again.all().length, names.length);
  await manager.unprepare('pod-uid');
  assert.deepEqual([writes, infos.all()], [3, []]);
});

test('the claims of a pod are looked for once for all its containers', async () => {
  const { files, log } = createSimPlatform();
  const infos = createClaimInfos(files, '/dra_manager_state');
  const manager = createDraManager({
    connect: () => assert.fail('no driver is called'),
    log,
    infos,
    getClaim: async (_namespace, name) => allocated(name),
    wiper: { driverGone: () => undefined, driverBack: () => undefined },
  });
  let reads = 0;
  await infos.set(
    names.map((name) => ({
      namespace: 'default',
      name,
      uid: `uid-${name}`,
      prepared: true,
      drivers: {},
      get podUids() {
        reads++;
        return ['pod-uid'];
      },
    })),
  );
  const written = reads;
  const containers = names.map((name) => ({ name, image: 'i', resources: { claims: [{ name }] } }));
  const many = { ...pod, spec: { ...pod.spec, containers } } as Pod;
  for (const container of containers) assert.equal(manager.claimResources(many, container)[0]?.known, true);
  assert.equal(reads - written, names.length);
  await infos.remove(['uid-claim-7']);
  assert.equal(manager.claimResources(many, containers[7]!)[0]?.known, false);
});
