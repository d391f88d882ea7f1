/**
 * Persistent volumes on this node, each shared by the pods that use it: staged before the first use, unstaged after
 * the last. Upstream: MountDevice and UnmountDevice of the CSI attacher, with the actual state of world.
 *
 * Invariants: a record is on disk before a driver is called and as long as something may be staged; a volume is
 * unstaged only while no pod's record names it. Volumes of an earlier process are found and unstaged in the same way.
 */
import { onAbort } from '../../../base/abort.ts';
import { createBackoff, type Backoff } from '../../../base/backoff.ts';
import { KeyedMutex } from '../../../base/keyed-mutex.ts';
import { removeAttachment, uniqueCsiName } from './csi-attachments.ts';
import type { StageRequest } from './csi-client.ts';
import type { CsiContext } from './csi-context.ts';
import type { DeviceRecord } from './csi-records.ts';

/** The staged volumes of this node. */
export interface CsiDevices {
  /** Registers a volume that is about to be used, and runs `write` while nothing is unstaged. */
  hold(record: Omit<DeviceRecord, 'staging'>, write: () => Promise<void>): Promise<void>;
  /** Stages the volume unless this process has already done so. */
  stage(driver: string, request: StageRequest): Promise<void>;
  /** A pod stopped using the volume: if it was the last, the volume is unstaged after a delay, with retries. */
  release(driver: string, handle: string): void;
  /** Unique names of attached volumes that are in use or may be staged. */
  inUse(): readonly string[];
  /** Finds the volumes of an earlier process on disk. */
  start(signal: AbortSignal): Promise<void>;
}

interface Device {
  readonly driver: string;
  readonly handle: string;
  readonly backoff: Backoff;
  attachmentId: string;
  staged: boolean;
  cancelRetry?: () => void;
}

const RETRY_SHAPE = { initialMs: 500, maxMs: 122_000 } as const;

/** `onInUseChange` is called whenever `inUse` changes. */
export function createCsiDevices(context: CsiContext, onInUseChange: () => void): CsiDevices {
  const { records, drivers, platform } = context;
  const log = platform.log.child('csi');
  const mutex = new KeyedMutex();
  const devices = new Map<string, Device>();
  let ended: AbortSignal | undefined;
  const keyOf = (driver: string, handle: string): string => `${driver}^${handle}`;

  function deviceOf({ driverName, volumeHandle, attachmentID }: Omit<DeviceRecord, 'staging'>): Device {
    const key = keyOf(driverName, volumeHandle);
    const existing = devices.get(key);
    const device = existing ?? {
      driver: driverName,
      handle: volumeHandle,
      backoff: createBackoff(RETRY_SHAPE),
      attachmentId: attachmentID,
      staged: false,
    };
    devices.set(key, device);
    const changed = existing === undefined || existing.attachmentId !== attachmentID;
    device.attachmentId = attachmentID;
    if (changed && attachmentID !== '') onInUseChange();
    return device;
  }

  async function isUsed(device: Device): Promise<boolean> {
    const used = await records.podVolumes();
    return used.some(
      ({ driverName, volumeHandle, volumeLifecycleMode }) =>
        driverName === device.driver && volumeHandle === device.handle && volumeLifecycleMode === 'Persistent',
    );
  }

  async function unstage(device: Device): Promise<void> {
    const { driver, handle } = device;
    const record = await records.readDevice(driver, handle);
    // Whatever the result of the call, the next pod stages the volume again.
    device.staged = false;
    if (record !== undefined && record.staging) {
      const client = drivers.client(driver);
      if (await client.hasCapability('STAGE_UNSTAGE_VOLUME'))
        await client.nodeUnstageVolume({ volumeId: handle, stagingTargetPath: records.stagingPath(driver, handle) });
    }
    if (context.attachesItself && device.attachmentId !== '') await removeAttachment(context, device.attachmentId);
    if (record !== undefined) await records.removeDevice(record);
  }

  async function endUnlessUsed(device: Device): Promise<void> {
    const key = keyOf(device.driver, device.handle);
    await mutex.run(key, async () => {
      if (devices.get(key) !== device || (await isUsed(device))) return;
      await unstage(device);
      devices.delete(key);
      if (device.attachmentId !== '') onInUseChange();
    });
  }

  function release(device: Device): void {
    device.cancelRetry?.();
    endUnlessUsed(device).then(
      () => device.backoff.reset(),
      (error: unknown) => {
        log.error('UnmountDevice failed', { driver: device.driver, volume: device.handle, err: error });
        if (ended?.aborted === true) return;
        device.cancelRetry = platform.clock.setTimer(device.backoff.nextMs(), () => release(device));
      },
    );
  }

  return {
    hold: (record, write) =>
      mutex.run(keyOf(record.driverName, record.volumeHandle), async () => {
        deviceOf(record).cancelRetry?.();
        const before = await records.readDevice(record.driverName, record.volumeHandle);
        await records.writeDevice({ ...record, staging: before?.staging ?? false });
        await write();
      }),
    stage: (driver, request) =>
      mutex.run(keyOf(driver, request.volumeId), async () => {
        const device = devices.get(keyOf(driver, request.volumeId));
        if (device === undefined) throw new Error(`volume ${request.volumeId} was given up while it was mounted`);
        if (device.staged) return;
        const client = drivers.client(driver);
        if (!(await client.hasCapability('STAGE_UNSTAGE_VOLUME'))) {
          device.staged = true;
          return;
        }
        const { attachmentId: attachmentID, handle: volumeHandle } = device;
        await records.writeDevice({ driverName: driver, volumeHandle, attachmentID, staging: true });
        await platform.files.makeDir(request.stagingTargetPath, { mode: 0o750 });
        await client.nodeStageVolume(request);
        device.staged = true;
      }),
    release(driver, handle) {
      const device = devices.get(keyOf(driver, handle));
      if (device !== undefined) release(device);
    },
    inUse: () =>
      [...devices.values()]
        .filter(({ attachmentId }) => attachmentId !== '')
        .map(({ driver, handle }) => uniqueCsiName(driver, handle)),
    async start(signal) {
      ended = signal;
      onAbort(signal, () => devices.forEach((device) => device.cancelRetry?.()));
      for (const record of await records.devices()) {
        if (!devices.has(keyOf(record.driverName, record.volumeHandle))) release(deviceOf(record));
      }
    },
  };
}
