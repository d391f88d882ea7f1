import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PersistentVolumeClaims, PersistentVolumes, Pods, StorageClasses } from '../api/gen/resources.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../api/gen/core-v1.ts';
import { createPersistentVolumeBinder } from './persistentvolume-binder/binder-controller.ts';
import { createPvProtectionController } from './pv-protection/pv-protection-controller.ts';
import { createPvcProtectionController } from './pvc-protection/pvc-protection-controller.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';

type VolumeSpec = NonNullable<PersistentVolume['spec']>;
type ClaimSpec = NonNullable<PersistentVolumeClaim['spec']>;

const start = (): Promise<ServerHarness> =>
  startServerHarness([createPersistentVolumeBinder, createPvcProtectionController, createPvProtectionController]);
/** `going`: deleted, with a finalizer. */
type Made = PersistentVolume & { readonly going?: boolean };
const volume = (name: string, storage: string, spec: Partial<VolumeSpec> = {}, labels = {}): Made => ({
  metadata: { name, labels },
  spec: {
    capacity: { storage },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Retain',
    ...(spec.csi === undefined && { hostPath: { path: '/data' } }),
    ...spec,
  },
});
const claim = (spec: Partial<ClaimSpec> = {}): object => ({
  metadata: { name: 'c' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } }, storageClassName: '', ...spec },
});
const phases = async (h: ServerHarness): Promise<Record<string, string | undefined>> =>
  Object.fromEntries((await h.list(PersistentVolumes)).map((v) => [v.metadata.name, v.status?.phase]));
const getClaim = (h: ServerHarness): Promise<PersistentVolumeClaim> => h.get(PersistentVolumeClaims, 'default/c');

describe('volume binder', () => {
  const gold: Partial<VolumeSpec> = {
    csi: { driver: 'd.example.com', volumeHandle: 'h' },
    volumeAttributesClassName: 'gold',
  };
  const matching: [
    what: string,
    volumes: Made[],
    claimed: Partial<ClaimSpec>,
    bound: string | undefined,
    why?: string,
  ][] = [
    ['the smallest that fits', [volume('small', '1Gi'), volume('large', '5Gi'), volume('fit', '3Gi')], {}, 'fit'],
    ['none that is too small', [volume('small', '1Gi')], {}, undefined],
    [
      'only its class',
      [volume('fast', '2Gi', { storageClassName: 'fast' }), volume('none', '2Gi')],
      { storageClassName: 'fast' },
      'fast',
    ],
    ['only its access modes', [volume('once', '2Gi')], { accessModes: ['ReadWriteMany'] }, undefined],
    ['only its volume mode', [volume('fs', '2Gi')], { volumeMode: 'Block' }, undefined],
    [
      'only what its selector selects',
      [volume('a', '2Gi'), volume('b', '3Gi', {}, { tier: 'b' })],
      { selector: { matchLabels: { tier: 'b' } } },
      'b',
    ],
    [
      'the one reserved for it',
      [volume('free', '2Gi'), volume('mine', '9Gi', { claimRef: { namespace: 'default', name: 'c' } })],
      {},
      'mine',
    ],
    [
      'none reserved for another',
      [volume('theirs', '2Gi', { claimRef: { namespace: 'default', name: 'other' } })],
      {},
      undefined,
    ],
    [
      'one that offers no more access modes than it wants, before a smaller one',
      [volume('shared', '2Gi', { accessModes: ['ReadWriteOnce', 'ReadWriteMany'] }), volume('own', '5Gi')],
      {},
      'own',
    ],
    [
      'not even the one reserved for it without its access modes',
      [volume('mine', '9Gi', { claimRef: { namespace: 'default', name: 'c' } })],
      { accessModes: ['ReadWriteMany'] },
      undefined,
    ],
    ['the one it names', [volume('a', '2Gi'), volume('b', '5Gi')], { volumeName: 'b' }, 'b'],
    ['the one it names unless too small', [volume('b', '1Gi')], { volumeName: 'b' }, undefined],
    [
      'only its class of attributes',
      [volume('plain', '2Gi'), volume('gold', '3Gi', gold)],
      { volumeAttributesClassName: 'gold' },
      'gold',
    ],
    [
      'the one it names unless of another class of attributes',
      [volume('b', '2Gi', gold)],
      { volumeName: 'b' },
      undefined,
      'Cannot bind to requested volume "b": volumeAttributesClassName does not match',
    ],
    [
      'the one it names unless it is going',
      [{ ...volume('b', '2Gi'), going: true }],
      { volumeName: 'b' },
      undefined,
      'Cannot bind to requested volume "b": the volume is marked for deletion "b"',
    ],
  ];
  for (const [what, volumes, spec, bound, why] of matching) {
    it(`binds ${what}`, async () => {
      const h = await start();
      for (const { going, ...v } of volumes) {
        await h.create(
          PersistentVolumes,
          going === true ? { ...v, metadata: { ...v.metadata, finalizers: ['a.b/c'] } } : v,
        );
        if (going === true) await h.remove(PersistentVolumes, v.metadata.name ?? '');
      }
      await h.create(PersistentVolumeClaims, claim(spec));
      await h.clock.advance(1000);
      const made = await getClaim(h);
      if (why !== undefined) assert.ok((await h.events()).includes(`Warning VolumeMismatch ${why}`));
      if (bound === undefined) assert.equal(made.status?.phase, 'Pending');
      else {
        const pv = await h.get<PersistentVolume>(PersistentVolumes, bound);
        assert.deepEqual(
          [made.status?.phase, made.spec?.volumeName, pv.status?.phase, pv.spec?.claimRef?.uid],
          ['Bound', bound, 'Bound', made.metadata.uid],
        );
        assert.equal(made.status?.capacity?.['storage'], pv.spec?.capacity?.['storage']);
        assert.equal(made.status?.currentVolumeAttributesClassName, pv.spec?.volumeAttributesClassName);
        assert.equal(made.metadata.annotations?.['pv.kubernetes.io/bind-completed'], 'yes');
      }
      await h.stop();
    });
  }

  it('binds no volume to two claims', async () => {
    const h = await start();
    for (const name of ['a', 'b', 'c', 'd']) await h.create(PersistentVolumeClaims, { ...claim(), metadata: { name } });
    for (const name of ['v', 'w']) await h.create(PersistentVolumes, volume(name, '2Gi'));
    await h.clock.advance(20_000);
    const bound = (await h.list(PersistentVolumeClaims))
      .filter((c) => c.status?.phase === 'Bound')
      .map((c) => c.spec?.volumeName);
    assert.deepEqual(bound.sort(), ['v', 'w']);
    await h.stop();
  });

  for (const [policy, phase] of [
    ['Retain', 'Released'],
    ['Delete', 'Failed'],
  ] as const) {
    it(`${policy}: the volume is ${phase} when its claim is gone, and no other claim gets it`, async () => {
      const h = await start();
      await h.create(PersistentVolumes, volume('v', '2Gi', { persistentVolumeReclaimPolicy: policy }));
      await h.create(PersistentVolumeClaims, claim());
      await h.clock.advance(1000);
      await h.remove(PersistentVolumeClaims, 'default/c');
      await h.clock.advance(1000);
      assert.deepEqual(await phases(h), { v: phase });
      await h.create(PersistentVolumeClaims, claim());
      await h.clock.advance(20_000);
      assert.equal((await getClaim(h)).status?.phase, 'Pending');
      await h.stop();
    });
  }

  it('reports a claim that has lost its volume', async () => {
    const h = await start();
    await h.create(PersistentVolumes, volume('v', '2Gi'));
    await h.create(PersistentVolumeClaims, claim());
    await h.clock.advance(1000);
    await h.update(PersistentVolumes, 'v', (draft) => void (draft.metadata.finalizers = []));
    await h.remove(PersistentVolumes, 'v');
    await h.update(PersistentVolumes, 'v', (draft) => void (draft.metadata.finalizers = [])).catch(() => undefined);
    await h.clock.advance(1000);
    assert.equal((await getClaim(h)).status?.phase, 'Lost');
    await h.stop();
  });

  it('leaves claims of late-binding classes to the scheduler, and hands others to provisioners', async () => {
    const h = await start();
    await h.create(StorageClasses, {
      metadata: { name: 'late' },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    await h.create(StorageClasses, { metadata: { name: 'now' }, provisioner: 'example.com/nfs' });
    await h.create(PersistentVolumes, volume('v', '2Gi', { storageClassName: 'late' }));
    await h.create(PersistentVolumeClaims, claim({ storageClassName: 'late' }));
    await h.create(PersistentVolumeClaims, { ...claim({ storageClassName: 'now' }), metadata: { name: 'd' } });
    await h.create(StorageClasses, { metadata: { name: 'none' }, provisioner: 'kubernetes.io/no-provisioner' });
    await h.create(PersistentVolumeClaims, { ...claim({ storageClassName: 'none' }), metadata: { name: 'e' } });
    await h.clock.advance(1000);
    assert.equal((await getClaim(h)).status?.phase, 'Pending');
    const other = await h.get<PersistentVolumeClaim>(PersistentVolumeClaims, 'default/d');
    assert.equal(other.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'], 'example.com/nfs');
    const events = await h.events();
    assert.ok(events.includes('Normal WaitForFirstConsumer waiting for first consumer to be created before binding'));
    const none = 'Warning ProvisioningFailed no volume plugin matched name: kubernetes.io/no-provisioner';
    assert.ok(events.includes(none), events.join('\n'));
    assert.ok(
      events.some((event) =>
        event.startsWith(
          "Normal ExternalProvisioning Waiting for a volume to be created either by the external provisioner 'example.com/nfs'",
        ),
      ),
    );
    await h.stop();
  });

  it('reports which pods a late-binding claim waits for', async () => {
    const h = await start();
    await h.create(StorageClasses, {
      metadata: { name: 'late' },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }];
    await h.create(Pods, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }], volumes } });
    await h.create(PersistentVolumeClaims, claim({ storageClassName: 'late' }));
    await h.clock.advance(1000);
    assert.ok((await h.events()).includes('Normal WaitForPodScheduled waiting for pod p to be scheduled'));
    await h.stop();
  });

  it('gives a claim without a class the default one, unless a volume without class fits', async () => {
    const h = await start();
    const unnamed = (name: string): object => {
      const { storageClassName: _, ...spec } = (claim() as { spec: ClaimSpec }).spec;
      return { metadata: { name }, spec };
    };
    const classes = async (): Promise<unknown[]> =>
      (await h.list(PersistentVolumeClaims))
        .toSorted((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1))
        .map(({ metadata, spec, status }) => [metadata.name, spec?.storageClassName, status?.phase]);
    await h.create(PersistentVolumes, volume('plain', '2Gi'));
    await h.create(PersistentVolumeClaims, unnamed('a'));
    await h.clock.advance(1000);
    await h.create(PersistentVolumeClaims, unnamed('b'));
    await h.create(PersistentVolumeClaims, { ...claim(), metadata: { name: 'none' } });
    await h.clock.advance(20_000);
    const before = [
      ['a', undefined, 'Bound'],
      ['b', undefined, 'Pending'],
      ['none', '', 'Pending'],
    ];
    assert.deepEqual(await classes(), before);
    await h.create(StorageClasses, {
      metadata: { name: 'usual', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'example.com/nfs',
    });
    await h.clock.advance(1000);
    assert.deepEqual(await classes(), [before[0], ['b', 'usual', 'Pending'], before[2]]);
    const asked = await h.get<PersistentVolumeClaim>(PersistentVolumeClaims, 'default/b');
    assert.equal(asked.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'], 'example.com/nfs');
    assert.match(await h.metrics.expose(), /^retroactive_storageclass_total 1$/m);
    const writes = h.writes();
    await h.clock.advance(60_000);
    assert.equal(h.writes(), writes);
    await h.stop();
  });

  it('writes nothing more once settled', async () => {
    const h = await start();
    await h.create(PersistentVolumes, volume('v', '2Gi'));
    await h.create(PersistentVolumeClaims, claim());
    await h.clock.advance(1000);
    const before = h.writes();
    await h.clock.advance(600_000);
    assert.equal(h.writes(), before);
    await h.stop();
  });
});

describe('protection', () => {
  it('an in-tree volume to be deleted stays without a deleter, until it is to be retained', async () => {
    const h = await start();
    const annotations = { 'pv.kubernetes.io/provisioned-by': 'kubernetes.io/host-path' };
    const made = volume('v', '2Gi', { persistentVolumeReclaimPolicy: 'Delete' });
    await h.create(PersistentVolumes, { ...made, metadata: { ...made.metadata, annotations } });
    await h.create(PersistentVolumeClaims, claim());
    await h.clock.advance(1000);
    await h.remove(PersistentVolumes, 'v');
    await h.remove(PersistentVolumeClaims, 'default/c');
    await h.clock.advance(2000);
    const kept = await h.get(PersistentVolumes, 'v');
    assert.deepEqual([kept.metadata.finalizers, kept.status?.phase], [['kubernetes.io/pv-controller'], 'Released']);
    await h.update(PersistentVolumes, 'v', (draft) => void (draft.spec!.persistentVolumeReclaimPolicy = 'Retain'));
    await h.clock.advance(1000);
    assert.deepEqual(await h.list(PersistentVolumes), []);
    await h.stop();
  });

  it('a claim in use is deleted when its pod is gone, a bound volume when its claim is', async () => {
    const h = await start();
    await h.create(PersistentVolumes, volume('v', '2Gi'));
    await h.create(PersistentVolumeClaims, claim());
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }];
    await h.create(Pods, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }], volumes } });
    await h.run(1000);
    assert.deepEqual((await getClaim(h)).metadata.finalizers, ['kubernetes.io/pvc-protection']);
    await h.remove(PersistentVolumes, 'v');
    await h.remove(PersistentVolumeClaims, 'default/c');
    await h.run(1000);
    assert.ok((await getClaim(h)).metadata.deletionTimestamp, 'the pod still uses it');
    await h.remove(Pods, 'default/p');
    await h.run(2000);
    assert.deepEqual([(await h.list(PersistentVolumeClaims)).length, (await h.list(PersistentVolumes)).length], [0, 0]);
    await h.stop();
  });
});
