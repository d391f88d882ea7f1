/** A kubelet's volume manager and a driver on its node, with a bound claim, for pods that start and end. */
import type { TestContext } from 'node:test';
import type { PersistentVolumeClaim, Pod, Volume } from '../../../api/gen/core-v1.ts';
import { CSIDrivers, Nodes, PersistentVolumeClaims, PersistentVolumes } from '../../../api/gen/resources.ts';
import type { CSIDriverSpec } from '../../../api/gen/storage-v1.ts';
import { createVolumeFixture, podWith, type VolumeFixture } from '../volume-fixture.ts';
import { fakeDriverPlugin, serveFakeDriver, type FakeDriver, type FakeDriverOptions } from './csi-driver-fixture.ts';

export const DRIVER_NAME = 'disks.example.com';
/** The volume's name in the status of the node. */
export const UNIQUE = `kubernetes.io/csi/${DRIVER_NAME}^handle-1`;
export const never = new AbortController().signal;

/** The volumes of a kubelet with that driver. */
export interface Csi {
  readonly f: VolumeFixture;
  readonly driver: FakeDriver;
}

/** The driver registers. */
export async function register(f: VolumeFixture): Promise<void> {
  await f.platform.clock.drive(f.csiHandler.registerPlugin(fakeDriverPlugin, never));
}

/** A kubelet on whose node the driver runs; without a spec, there is no CSIDriver object. */
export async function start(
  t: TestContext,
  spec: CSIDriverSpec | undefined = { attachRequired: false },
  options: FakeDriverOptions & { readonly attachesItself?: boolean } = {},
): Promise<Csi> {
  const f = createVolumeFixture(undefined, options);
  t.after(() => f.stop());
  const driver = serveFakeDriver(f.platform, f.sockets, options);
  f.client.put(Nodes, { metadata: { name: 'node-1', uid: 'node-uid' }, status: {} } as never);
  if (spec !== undefined) f.client.put(CSIDrivers, { metadata: { name: DRIVER_NAME }, spec } as never);
  f.start();
  await register(f);
  return { f, driver };
}

/** A claim bound to a volume of the driver. */
export function bind({ f }: Csi, pv: object = {}, csi: object = {}): PersistentVolumeClaim {
  const claim = {
    metadata: { name: 'data', namespace: 'default', uid: 'claim-1' },
    spec: { volumeName: 'pv-1' },
    status: { phase: 'Bound', capacity: { storage: '1Gi' } },
  } as PersistentVolumeClaim;
  f.client.put(PersistentVolumeClaims, claim);
  f.client.put(PersistentVolumes, {
    metadata: { name: 'pv-1' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      claimRef: { uid: 'claim-1' },
      csi: { driver: DRIVER_NAME, volumeHandle: 'handle-1', fsType: 'ext4', ...csi },
      ...pv,
    },
  } as never);
  return claim;
}

export const claimed: Volume = { name: 'data', persistentVolumeClaim: { claimName: 'data' } };

export function podNamed(name: string, volume: Volume = claimed, spec: Pod['spec'] = undefined as never): Pod {
  return podWith([volume], { metadata: { name, namespace: 'default', uid: `uid-${name}` }, spec });
}

/** The pod is here; resolves to where its volume is. */
export async function mount({ f }: Csi, pod: Pod): Promise<string> {
  f.pods = [...f.pods.filter(({ metadata }) => metadata.uid !== pod.metadata.uid), pod];
  await f.platform.clock.drive(f.manager.waitForAttachAndMount(pod, never));
  return f.manager.mountedVolumes(pod.metadata.uid ?? '').get('data')!.hostPath;
}

/** Deletes the pod and waits for the unmount. */
export async function unmount({ f }: Csi, pod: Pod): Promise<void> {
  f.pods = f.pods.filter(({ metadata }) => metadata.uid !== pod.metadata.uid);
  await f.platform.clock.drive(f.manager.waitForUnmount(pod, never));
  await f.platform.clock.settle();
}

/** Files of CSI that are there. */
export function leftOnDisk({ f }: Csi): string[] {
  return Object.keys(f.platform.files.snapshot()).filter((path) => path.includes('csi') && !path.endsWith('/'));
}
