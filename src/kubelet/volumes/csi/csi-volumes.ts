/**
 * CSI volumes of this node's pods: attaches, stages and publishes them, and undoes this. Upstream: pkg/volume/csi.
 *
 * Invariants: before a driver is called a record of the call is on disk; a volume published by this process is
 * published again only if the driver requires it. Differs: no polling; calls to drivers time out after two minutes
 * and delay only their own volume.
 */
import { hasErrorCode } from '../../../base/errors.ts';
import type { DriverVolumes, SetUpRequest, SetUpResult } from '../volume-plugin.ts';
import type { VolumeUsage } from '../volume-usage.ts';
import { type CsiContext } from './csi-context.ts';
import { createCsiDevices } from './csi-devices.ts';
import { expandIfGrown } from './csi-expand.ts';
import type { PodVolumeRecord } from './csi-records.ts';
import { createCsiStats } from './csi-stats.ts';
import {
  prepareVolumeMount,
  attachAndStage,
  waitForAttach,
  publishVolume,
  applyFsGroup,
  isLabelled,
} from './csi-set-up.ts';

/** CSI volumes as the plugin and the volume manager use them. */
export interface CsiVolumes extends DriverVolumes {
  /** Unique names for the node's status. */
  inUse(): readonly string[];
  start(signal: AbortSignal): Promise<void>;
}

/** Period in which claims are checked for volumes to expand. */
const GROWTH_PERIOD_MS = 60_000;

/** No I/O before `start` or the first volume. */
export function createCsiVolumes(context: CsiContext, onInUseChange: () => void): CsiVolumes {
  const devices = createCsiDevices(context, onInUseChange);
  /** Directories of volumes published in this process. */
  const published = new Set<string>();
  const stats = createCsiStats(context.platform);

  async function setUp(request: SetUpRequest): Promise<SetUpResult> {
    const mount = await prepareVolumeMount(context, request);
    const first = !published.has(request.dir);
    const { volume, object } = mount;
    const republish = object?.spec.requiresRepublish === true;
    let publishContext: Readonly<Record<string, string>> = {};
    if (first) publishContext = await attachAndStage(context, devices, mount);
    else if (republish && mount.attachmentId !== '') publishContext = await waitForAttach(context, mount);
    const refreshAfterMs = first || republish ? await publishVolume(context, mount, publishContext) : undefined;
    if (first) await applyFsGroup(context, mount);
    published.add(request.dir);
    const { target, client, capability } = mount;
    if (volume.mode === 'Persistent')
      await expandIfGrown(context, { request, volume, client, volumeCapability: capability, volumePath: target });
    const growing = volume.mode === 'Persistent' && (await client.hasCapability('EXPAND_VOLUME'));
    const again = refreshAfterMs ?? (republish || growing ? GROWTH_PERIOD_MS : undefined);
    return {
      hostPath: target,
      readOnly: volume.readOnly,
      selinuxRelabel: await isLabelled(context, target),
      ...(volume.block ? { block: true } : {}),
      refreshAfterMs: again,
      ...(volume.block ? {} : { usage: (): VolumeUsage | undefined => stats.of(mount) }),
    };
  }

  return {
    setUp,
    async tearDown(dir) {
      const record = await context.records.readPodVolume(dir);
      published.delete(dir);
      stats.forget(dir);
      await unpublish(context, dir, record);
      if (record?.volumeLifecycleMode === 'Persistent') devices.release(record.driverName, record.volumeHandle);
    },
    inUse: devices.inUse,
    start: devices.start,
  };
}

async function unpublish(context: CsiContext, dir: string, record: PodVolumeRecord | undefined): Promise<void> {
  const { platform, records } = context;
  const target = records.targetPath(dir);
  if (record?.publishing === true) {
    const client = context.drivers.client(record.driverName);
    await client.nodeUnpublishVolume({ volumeId: record.volumeHandle, targetPath: target });
  }
  if (await platform.mounter.isMountPoint(target)) {
    // Without a record it was mounted by an earlier run whose records are lost.
    if (record !== undefined) throw new Error(`${target} is still mounted after NodeUnpublishVolume`);
    await platform.mounter.unmount(target);
  }
  await removeTarget(platform.files, target);
  await records.removePodVolume(dir);
}

/** Removes the empty directory, or the file of a block volume; drivers may have removed it themselves. */
async function removeTarget(files: CsiContext['platform']['files'], target: string): Promise<void> {
  try {
    const { kind } = await files.lstat(target);
    if (kind === 'directory') await files.removeDir(target);
    else await files.remove(target);
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error;
  }
}
