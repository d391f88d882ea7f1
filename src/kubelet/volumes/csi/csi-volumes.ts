/**
 * CSI volumes of this node's pods, from attached to staged to published and back. Upstream: pkg/volume/csi.
 *
 * Invariants: before a driver is asked for anything a record of it lies on disk; what was published in this process is
 * published again only where the driver wants that. Differs: no polling; drivers' calls end after two minutes and hold up
 * none but their own volume.
 */
import type { CSIDriver, VolumeAttachmentSource } from '../../../api/gen/storage-v1.ts';
import { errorMessage, hasErrorCode } from '../../../base/errors.ts';
import { secretValues } from '../secret-values.ts';
import { fsGroupOf, setMountOwnership } from '../volume-ownership.ts';
import type { DriverVolumes, SetUpRequest, SetUpResult } from '../volume-plugin.ts';
import type { VolumeUsage } from '../volume-usage.ts';
import { waitUntilAttached } from './csi-attachments.ts';
import type { CsiNodeClient, VolumeCapability } from './csi-client.ts';
import { MountDeviceError, type CsiContext } from './csi-context.ts';
import { createCsiDevices, type CsiDevices } from './csi-devices.ts';
import { expandIfGrown } from './csi-expand.ts';
import type { PodVolumeRecord } from './csi-records.ts';
import { csiDriverObject, podPart } from './csi-requests.ts';
import { createCsiStats } from './csi-stats.ts';
import {
  appliesFsGroup,
  attachmentNameOf,
  checkLifecycleMode,
  csiVolumeOf,
  seLinuxContextOf,
  volumeCapability,
  type CsiVolume,
} from './csi-volume.ts';

/** CSI volumes, as the plugin and the manager see them. */
export interface CsiVolumes extends DriverVolumes {
  /** Unique names for the node's status. */
  inUse(): readonly string[];
  start(signal: AbortSignal): Promise<void>;
}

/** Period in which claims are checked for volumes to expand. */
const GROWTH_PERIOD_MS = 60_000;
const RETURN_GRACE_MS = 10_000;

/** One volume on its way. */
interface VolumeMount {
  readonly request: SetUpRequest;
  readonly volume: CsiVolume;
  readonly object: CSIDriver | undefined;
  readonly client: CsiNodeClient;
  readonly capability: VolumeCapability;
  readonly attachmentId: string;
  readonly target: string;
}

/** Makes them. No I/O before `start` or the first volume. */
export function createCsiVolumes(context: CsiContext, onInUseChange: () => void): CsiVolumes {
  const devices = createCsiDevices(context, onInUseChange);
  /** Directories of volumes published in this process. */
  const published = new Set<string>();
  const stats = createCsiStats(context.platform);

  async function setUp(request: SetUpRequest): Promise<SetUpResult> {
    const mount = await prepare(context, request);
    const first = !published.has(request.dir);
    const { volume, object } = mount;
    const republish = object?.spec.requiresRepublish === true;
    let publishContext: Readonly<Record<string, string>> = {};
    if (first) publishContext = await bringToNode(context, devices, mount);
    else if (republish && mount.attachmentId !== '') publishContext = await attached(context, mount);
    const refreshAfterMs = first || republish ? await publish(context, mount, publishContext) : undefined;
    if (first) await own(context, mount);
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

/** Everything a driver must be known for, before anything is touched. */
async function prepare(context: CsiContext, request: SetUpRequest): Promise<VolumeMount> {
  const { pod, spec, dir } = request;
  const sha256Hex = (text: string): string => context.platform.crypto.sha256Hex(text);
  const volume = csiVolumeOf(pod, spec, sha256Hex);
  await waitForReturn(context, volume, request);
  const client = clientOf(context, volume);
  const object = await csiDriverObject(context, volume.driver);
  checkLifecycleMode(volume, object);
  const { fsGroup } = fsGroupOf(pod);
  const group = fsGroup !== undefined && (await client.hasCapability('VOLUME_MOUNT_GROUP')) ? fsGroup : undefined;
  const enforcing = await context.platform.files.exists('/sys/fs/selinux/enforce');
  return {
    request,
    volume,
    object,
    client,
    target: context.records.targetPath(dir),
    attachmentId:
      volume.mode === 'Persistent' && object?.spec.attachRequired !== false
        ? attachmentNameOf(volume, context.nodeName, sha256Hex)
        : '',
    capability: volumeCapability(volume, {
      multiWriter: await client.hasCapability('SINGLE_NODE_MULTI_WRITER'),
      group,
      seLinuxContext: enforcing ? seLinuxContextOf(pod, volume, object) : '',
    }),
  };
}

/** After a restart drivers come back one after the other: what they have published is not complained of meanwhile. */
async function waitForReturn(context: CsiContext, { driver }: CsiVolume, request: SetUpRequest): Promise<void> {
  const { clock } = context.platform;
  const untilMs = clock.monotonicMs() + RETURN_GRACE_MS;
  if (context.drivers.isRegistered(driver)) return;
  if ((await context.records.readPodVolume(request.dir))?.publishing !== true) return;
  while (!context.drivers.isRegistered(driver) && clock.monotonicMs() < untilMs) await clock.sleep(100, request.signal);
}

function clientOf({ drivers }: CsiContext, { mode, driver }: CsiVolume): CsiNodeClient {
  const step = mode === 'Persistent' ? 'attacher.MountDevice' : 'mounter.SetUpAt';
  try {
    return drivers.client(driver);
  } catch (error) {
    const text = `kubernetes.io/csi: ${step} failed to create newCsiDriverClient: ${errorMessage(error)}`;
    throw mode === 'Persistent' ? new MountDeviceError(new Error(text, { cause: error })) : new Error(text);
  }
}

function recordOf({ nodeName }: CsiContext, mount: VolumeMount, publishing: boolean): PodVolumeRecord {
  const { volume, request, attachmentId } = mount;
  return {
    specVolID: request.spec.persistentVolume?.metadata.name ?? request.spec.name,
    driverName: volume.driver,
    volumeHandle: volume.handle,
    volumeLifecycleMode: volume.mode,
    nodeName,
    attachmentID: attachmentId,
    publishing,
  };
}

/** Records, attachment and staging. Resolves to the publish context. */
async function bringToNode(
  context: CsiContext,
  devices: CsiDevices,
  mount: VolumeMount,
): Promise<Readonly<Record<string, string>>> {
  const { records } = context;
  const { volume, request, attachmentId } = mount;
  const before = await records.readPodVolume(request.dir);
  const write = (): Promise<void> =>
    records.writePodVolume(request.dir, recordOf(context, mount, before?.publishing ?? false));
  if (volume.mode === 'Ephemeral') {
    await write();
    return {};
  }
  const { driver: driverName, handle: volumeHandle } = volume;
  await devices.hold({ driverName, volumeHandle, attachmentID: attachmentId }, write);
  const publishContext = attachmentId === '' ? {} : await attached(context, mount);
  try {
    await devices.stage(volume.driver, {
      volumeId: volume.handle,
      publishContext,
      stagingTargetPath: records.stagingPath(volume.driver, volume.handle),
      volumeCapability: mount.capability,
      secrets: await secretValues(context.client, volume.stageSecret),
      volumeContext: volume.attributes,
    });
  } catch (error) {
    throw new MountDeviceError(error);
  }
  return publishContext;
}

async function attached(context: CsiContext, mount: VolumeMount): Promise<Readonly<Record<string, string>>> {
  const { volume, request, attachmentId } = mount;
  request.attaching(true);
  try {
    return await waitUntilAttached(context, {
      driver: volume.driver,
      handle: volume.handle,
      attachmentName: attachmentId,
      source: attachmentSource(request),
      signal: request.signal,
    });
  } finally {
    request.attaching(false);
  }
}

/** The attributes of an inline volume are complete in the pod. */
function attachmentSource({ spec: { persistentVolume, claim } }: SetUpRequest): VolumeAttachmentSource {
  if (claim === undefined) return { inlineVolumeSpec: persistentVolume?.spec ?? {} };
  return { persistentVolumeName: persistentVolume?.metadata.name ?? '' };
}

/** Resolves to when it is to be done again, if ever. */
async function publish(
  context: CsiContext,
  mount: VolumeMount,
  publishContext: Readonly<Record<string, string>>,
): Promise<number | undefined> {
  const { volume, object, request, client } = mount;
  const { volumeContext, secrets, refreshAfterMs } = await podPart(context, { pod: request.pod, volume, object });
  const stages = volume.mode === 'Persistent' && (await client.hasCapability('STAGE_UNSTAGE_VOLUME'));
  await context.records.writePodVolume(request.dir, recordOf(context, mount, true));
  await client.nodePublishVolume({
    volumeId: volume.handle,
    publishContext,
    stagingTargetPath: stages ? context.records.stagingPath(volume.driver, volume.handle) : '',
    targetPath: mount.target,
    volumeCapability: mount.capability,
    readonly: volume.readOnly,
    secrets,
    volumeContext,
  });
  return refreshAfterMs;
}

/** The pod's group gets the files, where the driver leaves that to the kubelet. */
async function own(
  { platform }: CsiContext,
  { volume, object, request, target, capability }: VolumeMount,
): Promise<void> {
  if (capability.mount?.volumeMountGroup !== '' || !appliesFsGroup(volume, object)) return;
  await setMountOwnership(platform, { path: target, readOnly: false, ...fsGroupOf(request.pod) });
}

async function isLabelled({ platform }: CsiContext, target: string): Promise<boolean> {
  const mount = (await platform.mounter.list()).findLast(({ path }) => path === target);
  return mount?.options.includes('seclabel') === true;
}

async function unpublish(context: CsiContext, dir: string, record: PodVolumeRecord | undefined): Promise<void> {
  const { platform, records } = context;
  const target = records.targetPath(dir);
  if (record?.publishing === true) {
    const client = context.drivers.client(record.driverName);
    await client.nodeUnpublishVolume({ volumeId: record.volumeHandle, targetPath: target });
  }
  if (await platform.mounter.isMountPoint(target)) {
    // Without a record it was mounted by an earlier run of this kubelet whose records were lost.
    if (record !== undefined) throw new Error(`${target} is still mounted after NodeUnpublishVolume`);
    await platform.mounter.unmount(target);
  }
  await removeTarget(platform.files, target);
  await records.removePodVolume(dir);
}

/** An empty directory, or the file of a block volume; drivers may have removed it themselves. */
async function removeTarget(files: CsiContext['platform']['files'], target: string): Promise<void> {
  try {
    const { kind } = await files.lstat(target);
    if (kind === 'directory') await files.removeDir(target);
    else await files.remove(target);
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error;
  }
}
