/** A CSI driver on real containers: it registers, pods use its volume through a claim, and everything is unmounted. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { images, startCluster, type Space, type TestCluster } from './cluster-fixture.ts';
import { startCsiDriver, type CsiDriver } from './fixtures/csi-driver.ts';
import { endProcess } from './fixtures/programs.ts';

const DRIVER_NAME = 'disks.example.com';

interface Names {
  readonly driver: string;
  readonly volume: string;
  readonly claim: string;
}

const plain: Names = { driver: DRIVER_NAME, volume: 'disk', claim: 'data' };
const attached: Names = { driver: 'attached.example.com', volume: 'attached', claim: 'attached' };

function volumeWithClaim(namespace: string, { driver, volume, claim }: Names, attachRequired: boolean): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'CSIDriver',
        metadata: { name: driver },
        spec: { attachRequired },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: volume },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          storageClassName: 'none',
          claimRef: { namespace, name: claim },
          csi: { driver, volumeHandle: 'vol-1' },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: claim },
        spec: {
          storageClassName: 'none',
          volumeName: volume,
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: '1Gi' } },
        },
      },
    ],
  });
}

function podWriting(name: string, text: string, claimName = plain.claim): object {
  const script = `echo ${text} >> /data/file; sleep 3600`;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'app',
          image: images.test,
          command: ['sh', '-c', script],
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
    },
  };
}

describe('CSI volumes', { skip: process.getuid?.() === 0 ? false : 'needs root' }, () => {
  let cluster: TestCluster;
  let space: Space;
  let directory: string;
  let driver: CsiDriver;

  const startDriver = async (): Promise<void> => {
    driver = await startCsiDriver(DRIVER_NAME, join(cluster.dataDir, 'kubelet'), directory);
  };
  const isReady = (pod: string): Promise<unknown> =>
    space.kubectl(['wait', `pod/${pod}`, '--for=condition=Ready', '--timeout=120s']);
  const written = (): string[] => readFileSync(join(directory, 'vol-1/file'), 'utf8').trim().split('\n');
  /** A container without a readiness probe is ready when it has started; its output may follow later. */
  const isWritten = (text: string): Promise<boolean> =>
    space.until(`${text} is written`, async () => written().includes(text));
  const mounts = (): string[] =>
    readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(join(cluster.dataDir, 'kubelet')) && line.includes('csi'));

  before(async () => {
    cluster = await startCluster();
    directory = mkdtempSync(join(tmpdir(), 'keelson-csi-'));
    space = await cluster.space('disks');
    await startDriver();
  });
  after(async () => {
    await driver.stop();
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('a driver registers and the API lists it', async () => {
    await space.until('the driver is registered', async () => driver.told.includes('registered'));
    const drivers = await space.until('the node tells of it', () =>
      space.kubectl(['get', 'csinodes', '-o', 'jsonpath={.items[*].spec.drivers}']),
    );
    assert.deepEqual(JSON.parse(drivers), [
      { name: DRIVER_NAME, nodeID: 'node-of-the-test', topologyKeys: null, allocatable: { count: 3 } },
    ]);
  });

  it('a pod writes into the volume; a restarted Keelson finds the volume and unmounts it', async () => {
    await space.apply(volumeWithClaim('disks', plain, false));
    await space.apply(podWriting('first', 'one'));
    await isReady('first');
    // The kubelet repeats a call whose answer arrived after the timeout.
    assert.deepEqual([...new Set(driver.calls)], ['NodeStageVolume vol-1', 'NodePublishVolume vol-1']);
    await isWritten('one');
    await endProcess(await cluster.pid());
    await cluster.up();
    assert.equal(await space.kubectl('get pod first -o jsonpath={.status.containerStatuses[0].restartCount}'), '0');
    await space.kubectl('delete pod first --wait');
    await space.until('the volume is unstaged', async () => mounts().length === 0);
    assert.equal(driver.calls.at(-1), 'NodeUnstageVolume vol-1');
    assert.deepEqual(written(), ['one']);
    const left = join(cluster.dataDir, 'kubelet/plugins/kubernetes.io/csi', DRIVER_NAME);
    await space.until('its directory is gone', async () => readdirSync(left).length === 0);
  });

  it('a pod whose driver is missing reports that, and starts when the driver registers', async () => {
    await driver.stop();
    await space.until('the driver is gone', async () =>
      /^(\[\]|null)?$/.test(await space.kubectl(['get', 'csinodes', '-o', 'jsonpath={.items[*].spec.drivers}'])),
    );
    await space.apply(podWriting('second', 'two'));
    await space.until('the event', async () =>
      (await space.kubectl('get events')).includes(
        `driver name ${DRIVER_NAME} not found in the list of registered CSI drivers`,
      ),
    );
    await startDriver();
    await isReady('second');
    await isWritten('two');
    await space.kubectl('delete pod second --wait');
    await space.until('the volume is unstaged', async () => mounts().length === 0);
    assert.equal(driver.calls.at(-1), 'NodeUnstageVolume vol-1');
    assert.deepEqual(written(), ['one', 'two']);
  });

  it('a volume that must be attached is attached first and detached last', async () => {
    const other = await startCsiDriver(attached.driver, join(cluster.dataDir, 'kubelet'), join(directory, 'attached'));
    try {
      await space.apply(volumeWithClaim('disks', attached, true));
      await space.apply(podWriting('third', 'three', attached.claim));
      const name = await space.until('the attachment is asked for', async () =>
        space.kubectl(['get', 'volumeattachments', '-o', 'jsonpath={.items[*].metadata.name}']),
      );
      assert.deepEqual(other.calls, []);
      const patch = JSON.stringify({ status: { attached: true, attachmentMetadata: { device: 'sdx' } } });
      await space.kubectl(['patch', 'volumeattachment', name, '--subresource=status', '--type=merge', '-p', patch]);
      await isReady('third');
      const inUse = ['get', 'nodes', '-o', 'jsonpath={.items[*].status.volumesInUse}'];
      await space.until(
        'the node says that it uses it',
        async () => (await space.kubectl(inUse)) === `["kubernetes.io/csi/${attached.driver}^vol-1"]`,
      );
      await space.kubectl('delete pod third --wait');
      await space.until('it is detached', async () => (await space.kubectl('get volumeattachments -o name')) === '');
      assert.equal(other.calls.at(-1), 'NodeUnstageVolume vol-1');
      assert.deepEqual([await space.kubectl(inUse), mounts()], ['', []]);
    } finally {
      await other.stop();
    }
  });
});
