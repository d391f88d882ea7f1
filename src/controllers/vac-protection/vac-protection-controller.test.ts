import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PersistentVolumeClaims, PersistentVolumes, VolumeAttributesClasses } from '../../api/gen/resources.ts';
import { startServerHarness } from '../server-harness-fixture.ts';
import { createVacProtectionController } from './vac-protection-controller.ts';

const FINALIZER = 'kubernetes.io/vac-protection';

async function withClass() {
  const h = await startServerHarness([createVacProtectionController]);
  await h.create(VolumeAttributesClasses, { metadata: { name: 'gold' }, driverName: 'd', parameters: { iops: '9' } });
  await h.run(100);
  const left = async (): Promise<boolean> => (await h.list(VolumeAttributesClasses)).length > 0;
  const [made] = await h.list(VolumeAttributesClasses);
  assert.deepEqual(made?.metadata.finalizers, [FINALIZER]);
  return { h, left };
}

it('an unused class is deleted at once', async () => {
  const { h, left } = await withClass();
  await h.remove(VolumeAttributesClasses, '/gold');
  await h.run(100);
  assert.equal(await left(), false);
  await h.stop();
});

it('a class is deleted when the last claim and volume with it as current or target class are gone', async () => {
  const { h, left } = await withClass();
  const access = { accessModes: ['ReadWriteOnce'] };
  await h.create(PersistentVolumes, {
    metadata: { name: 'v' },
    spec: {
      ...access,
      capacity: { storage: '1Gi' },
      csi: { driver: 'd', volumeHandle: 'h' },
      volumeAttributesClassName: 'gold',
    },
  });
  await h.create(PersistentVolumeClaims, {
    metadata: { name: 'c' },
    spec: { ...access, resources: { requests: { storage: '1Gi' } }, volumeAttributesClassName: 'gold' },
  });
  await h.remove(VolumeAttributesClasses, '/gold');
  await h.run(100);
  assert.equal(await left(), true, 'a volume and a claim have it');
  await h.update(PersistentVolumes, '/v', ({ metadata }) => delete metadata.finalizers);
  await h.remove(PersistentVolumes, '/v');
  await h.run(100);
  assert.equal(await left(), true, 'the claim has it');
  await h.update(PersistentVolumeClaims, 'default/c', ({ metadata }) => delete metadata.finalizers);
  await h.remove(PersistentVolumeClaims, 'default/c');
  await h.run(100);
  assert.equal(await left(), false);
  await h.stop();
});
