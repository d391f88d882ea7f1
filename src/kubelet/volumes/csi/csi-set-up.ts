/**
 * Sets up a CSI volume of a pod: reads its driver's objects, attaches and stages it, publishes it. Upstream:
 * csiMountMgr.SetUpAt in pkg/volume/csi/csi_mounter.go.
 */
import type { CSIDriver, VolumeAttachmentSource } from '../../../api/gen/storage-v1.ts';
import { errorMessage } from '../../../base/errors.ts';
import { secretValues } from '../secret-values.ts';
import { fsGroupOf, setMountOwnership } from '../volume-ownership.ts';
import type { SetUpRequest } from '../volume-plugin.ts';
import { waitUntilAttached } from './csi-attachments.ts';
import type { CsiNodeClient, VolumeCapability } from './csi-client.ts';
import { MountDeviceError, type CsiContext } from './csi-context.ts';
import { type CsiDevices } from './csi-devices.ts';
import type { PodVolumeRecord } from './csi-records.ts';
import { csiDriverObject, podPart } from './csi-requests.ts';
import {
  appliesFsGroup,
  attachmentNameOf,
  checkLifecycleMode,
  csiVolumeOf,
  seLinuxContextOf,
  volumeCapability,
  type CsiVolume,
} from './csi-volume.ts';

const RETURN_GRACE_MS = 10_000;

/** A volume that is being set up. */
interface VolumeMount {
  readonly request: SetUpRequest;
  readonly volume: CsiVolume;
  readonly object: CSIDriver | undefined;
  readonly client: CsiNodeClient;
  readonly capability: VolumeCapability;
  readonly attachmentId: string;
  readonly target: string;
}

/** Reads everything about the driver that the set-up needs, before anything is changed. */
export async function prepareVolumeMount(context: CsiContext, request: SetUpRequest): Promise<VolumeMount> {
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

/** After a restart drivers register one after another: until then their published volumes are no errors. */
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

/** Writes the records, attaches and stages the volume. Resolves to the publish context. */
export async function attachAndStage(
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
  const publishContext = attachmentId === '' ? {} : await waitForAttach(context, mount);
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

export async function waitForAttach(
  context: CsiContext,
  mount: VolumeMount,
): Promise<Readonly<Record<string, string>>> {
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

/** The source of the attachment. An inline volume's attributes are in the pod. */
function attachmentSource({ spec: { persistentVolume, claim } }: SetUpRequest): VolumeAttachmentSource {
  if (claim === undefined) return { inlineVolumeSpec: persistentVolume?.spec ?? {} };
  return { persistentVolumeName: persistentVolume?.metadata.name ?? '' };
}

/** Resolves to the delay until the volume must be published again, if at all. */
export async function publishVolume(
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

/** Sets the files' group to the pod's fsGroup, if that is the kubelet's task. */
export async function applyFsGroup(
  { platform }: CsiContext,
  { volume, object, request, target, capability }: VolumeMount,
): Promise<void> {
  if (capability.mount?.volumeMountGroup !== '' || !appliesFsGroup(volume, object)) return;
  await setMountOwnership(platform, { path: target, readOnly: false, ...fsGroupOf(request.pod) });
}

export async function isLabelled({ platform }: CsiContext, target: string): Promise<boolean> {
  const mount = (await platform.mounter.list()).findLast(({ path }) => path === target);
  return mount?.options.includes('seclabel') === true;
}
