/** Claims of class local-path against the real server, binder and protection, with a stand-in for nodes' kubelets. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onAbort } from '../base/abort.ts';
import { Nodes, PersistentVolumeClaims, PersistentVolumes, StorageClasses } from '../api/gen/resources.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../api/gen/core-v1.ts';
import type { KubeletConnector } from '../apiserver/registry/services.ts';
import { localPathStorageClass } from '../apiserver/bootstrap/local-path-class.ts';
import { createPersistentVolumeBinder } from './persistentvolume-binder/binder-controller.ts';
import { createPvProtectionController } from './pv-protection/pv-protection-controller.ts';
import { createPvcProtectionController } from './pvc-protection/pvc-protection-controller.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';
import { createLocalPathProvisioner } from './local-path/local-path-controller.ts';

type ClaimSpec = NonNullable<PersistentVolumeClaim['spec']>;

interface World extends ServerHarness {
  /** The requests to kubelets, as `node METHOD path`. */
  readonly asked: string[];
  /** The status of kubelets' responses; 0: no response. */
  answer: number;
}

const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
const FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer';
const ROOT = '/data/local-path';

async function startWorld(): Promise<World> {
  const asked: string[] = [];
  const connector: Partial<KubeletConnector> = {
    async proxyNode(node, _target, { request }) {
      asked.push(`${node.metadata.name} ${request.method} ${request.path.split('/proxy')[1]}`);
      if (world.answer === 0)
        return await new Promise((_, reject) => onAbort(request.signal, () => reject(request.signal.reason)));
      return { kind: 'bytes', status: world.answer, headers: {}, chunks: [Buffer.from('answer')] };
    },
  };
  const h = await startServerHarness(
    [
      createPersistentVolumeBinder,
      createPvcProtectionController,
      createPvProtectionController,
      createLocalPathProvisioner,
    ],
    {},
    connector as KubeletConnector,
  );
  const world: World = { ...h, asked, answer: 200 };
  await h.create(StorageClasses, localPathStorageClass());
  const annotationsOf: Record<string, Record<string, string>> = { n1: { 'keelson.dev/local-path': ROOT }, bare: {} };
  for (const [name, annotations] of Object.entries(annotationsOf)) {
    await h.addNode(name, { labels: { 'kubernetes.io/hostname': `host-${name}` } });
    await h.update(Nodes, name, (draft) => void (draft.metadata.annotations = annotations));
  }
  return world;
}

/** Creates claim `c` (of the default class) and puts it on a node, as the scheduler does. */
async function claimOn(h: World, node: string | undefined, spec: Partial<ClaimSpec> = {}): Promise<void> {
  await h.create(PersistentVolumeClaims, {
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } }, ...spec },
  });
  await h.clock.advance(1000);
  if (node === undefined) return;
  await h.update(PersistentVolumeClaims, 'default/c', (draft) => {
    draft.metadata.annotations = { ...draft.metadata.annotations, [SELECTED_NODE]: node };
  });
  await h.clock.advance(1000);
}

const getClaim = (h: World): Promise<PersistentVolumeClaim> => h.get(PersistentVolumeClaims, 'default/c');
const volumesOf = (h: World): Promise<PersistentVolume[]> => h.list(PersistentVolumes);
const eventsOf = async (h: World, reason: string): Promise<string[]> =>
  (await h.events()).filter((event) => event.split(' ')[1] === reason);

describe('local-path provisioner', () => {
  it('waits for the node, then provisions there and the claim is bound', async () => {
    const h = await startWorld();
    await claimOn(h, undefined);
    assert.deepEqual(await volumesOf(h), []);
    await h.remove(PersistentVolumeClaims, 'default/c');
    await h.clock.advance(1000);
    await claimOn(h, 'n1');
    const claim = await getClaim(h);
    const name = `pvc-${claim.metadata.uid}`;
    const [volume] = await volumesOf(h);
    assert.deepEqual(
      [claim.status?.phase, claim.spec?.volumeName, claim.status?.capacity, volume?.status?.phase],
      ['Bound', name, { storage: '2Gi' }, 'Bound'],
    );
    const { spec, metadata } = volume!;
    assert.equal(metadata.annotations?.['pv.kubernetes.io/provisioned-by'], 'keelson.dev/local-path');
    assert.deepEqual(spec?.local, { path: `${ROOT}/${name}_default_c` });
    assert.deepEqual(spec?.nodeAffinity?.required?.nodeSelectorTerms[0]?.matchExpressions, [
      { key: 'kubernetes.io/hostname', operator: 'In', values: ['host-n1'] },
    ]);
    assert.deepEqual([spec?.storageClassName, spec?.persistentVolumeReclaimPolicy], ['local-path', 'Delete']);
    assert.deepEqual(await eventsOf(h, 'ProvisioningSucceeded'), [
      `Normal ProvisioningSucceeded Successfully provisioned volume ${name}`,
    ]);
    const before = h.writes();
    await h.clock.advance(600_000);
    assert.equal(h.writes(), before, 'settled');
    await h.stop();
  });

  it('accepts a long name', async () => {
    const h = await startWorld();
    const name = 'c'.repeat(253);
    await h.create(PersistentVolumeClaims, {
      metadata: { name, annotations: { [SELECTED_NODE]: 'n1' } },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    await h.clock.advance(2000);
    const [volume] = await volumesOf(h);
    assert.equal(volume?.spec?.local?.path?.slice(ROOT.length + 1).length, 255);
    await h.stop();
  });

  const refused: readonly [what: string, spec: Partial<ClaimSpec>, message: RegExp][] = [
    [
      'ReadWriteMany',
      { accessModes: ['ReadWriteOnce', 'ReadWriteMany'] },
      /access mode ReadWriteMany is not supported/,
    ],
    ['Block', { volumeMode: 'Block' }, /volumeMode Block is not supported/],
    ['selectors', { selector: { matchLabels: { a: 'b' } } }, /claim.spec.selector is not supported/],
  ];
  for (const [what, spec, message] of refused) {
    it(`refuses ${what}`, async () => {
      const h = await startWorld();
      await claimOn(h, 'n1', spec);
      assert.deepEqual(await volumesOf(h), []);
      assert.match((await eventsOf(h, 'ProvisioningFailed'))[0] ?? '', message);
      assert.equal((await getClaim(h)).status?.phase, 'Pending');
      await h.stop();
    });
  }

  for (const [node, why] of [
    ['bare', 'node "bare" keeps no local-path volumes'],
    ['gone', 'node "gone" does not exist'],
  ] as const) {
    it(`returns the claim to the scheduler: ${why}`, async () => {
      const h = await startWorld();
      await claimOn(h, node);
      assert.equal((await getClaim(h)).metadata.annotations?.[SELECTED_NODE], undefined);
      assert.deepEqual(await eventsOf(h, 'ProvisioningFailed'), [
        `Warning ProvisioningFailed failed to provision volume with StorageClass "local-path": ${why}`,
      ]);
      await h.stop();
    });
  }

  it('removes the directory and then the volume when the claim is gone', async () => {
    const h = await startWorld();
    await claimOn(h, 'n1');
    const [volume] = await volumesOf(h);
    await h.remove(PersistentVolumeClaims, 'default/c');
    await h.clock.advance(2000);
    assert.deepEqual(h.asked, [`n1 DELETE /localVolumes/${volume?.metadata.name}`]);
    assert.deepEqual(await volumesOf(h), []);
    await h.stop();
  });

  it('removes the directory of a volume that was deleted before its claim', async () => {
    const h = await startWorld();
    await claimOn(h, 'n1');
    const [volume] = await volumesOf(h);
    const name = volume?.metadata.name ?? '';
    await h.remove(PersistentVolumes, name);
    await h.clock.advance(60_000);
    assert.deepEqual(
      [h.asked, (await volumesOf(h)).map(({ status, metadata }) => [status?.phase, metadata.finalizers])],
      [[], [['Bound', [FINALIZER, 'kubernetes.io/pv-protection']]]],
    );
    await h.remove(PersistentVolumeClaims, 'default/c');
    await h.clock.advance(2000);
    assert.deepEqual([h.asked, await volumesOf(h)], [[`n1 DELETE /localVolumes/${name}`], []]);
    await h.stop();
  });

  it('keeps the directory of a deleted volume whose policy was changed to Retain', async () => {
    const h = await startWorld();
    await claimOn(h, 'n1');
    const name = (await volumesOf(h))[0]?.metadata.name ?? '';
    const setPolicy = async (policy: string): Promise<readonly string[] | undefined> => {
      await h.update(PersistentVolumes, name, (draft) => void (draft.spec!.persistentVolumeReclaimPolicy = policy));
      await h.clock.advance(1000);
      return (await h.get(PersistentVolumes, name)).metadata.finalizers;
    };
    assert.deepEqual(await setPolicy('Retain'), ['kubernetes.io/pv-protection']);
    assert.deepEqual(await setPolicy('Delete'), [FINALIZER, 'kubernetes.io/pv-protection']);
    await h.remove(PersistentVolumes, name);
    assert.deepEqual(await setPolicy('Retain'), ['kubernetes.io/pv-protection']);
    await h.remove(PersistentVolumeClaims, 'default/c');
    await h.clock.advance(2000);
    assert.deepEqual([h.asked, await volumesOf(h)], [[], []]);
    await h.stop();
  });

  it('keeps the volume of a class that retains', async () => {
    const h = await startWorld();
    await h.create(StorageClasses, { ...localPathStorageClass(), metadata: { name: 'kept' }, reclaimPolicy: 'Retain' });
    await claimOn(h, 'n1', { storageClassName: 'kept' });
    await h.remove(PersistentVolumeClaims, 'default/c');
    await h.clock.advance(60_000);
    assert.deepEqual([h.asked, (await volumesOf(h)).map(({ status }) => status?.phase)], [[], ['Released']]);
    await h.stop();
  });

  for (const answer of [500, 0]) {
    it(`retries while the node ${answer === 0 ? 'does not answer' : 'fails'}`, async () => {
      const h = await startWorld();
      await claimOn(h, 'n1');
      h.answer = answer;
      await h.remove(PersistentVolumeClaims, 'default/c');
      await h.clock.advance(120_000);
      assert.ok(h.asked.length > 2, String(h.asked.length));
      assert.deepEqual(
        (await volumesOf(h)).map(({ status }) => status?.phase),
        ['Released'],
      );
      assert.notEqual((await eventsOf(h, 'VolumeFailedDelete')).length, 0);
      h.answer = 200;
      await h.clock.advance(1_000_000);
      assert.deepEqual(await volumesOf(h), []);
      await h.stop();
    });
  }

  it('lets the volume go with its node', async () => {
    const h = await startWorld();
    await claimOn(h, 'n1');
    h.answer = 500;
    await h.remove(PersistentVolumeClaims, 'default/c');
    await h.clock.advance(2000);
    assert.equal((await volumesOf(h)).length, 1);
    await h.remove(Nodes, 'n1');
    await h.clock.advance(2000);
    assert.deepEqual(await volumesOf(h), []);
    await h.stop();
  });
});
