/**
 * Devices that volumes of several pods may share: attached to the node and mounted once, bind-mounted into each pod,
 * detached after the last use. Upstream: the attachers and disk managers of pkg/volume/iscsi, rbd and flexvolume.
 *
 * Invariant: a record in the pod's plugin directory is on disk from before the device is attached until it is
 * detached or left to other pods, so that a later process completes what an earlier one began.
 */
import { ignoreMissingFile } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { formatAndMount } from './format-and-mount.ts';
import { fsGroupOf, setMountOwnership } from './volume-ownership.ts';
import type { SetUpRequest, SetUpResult, TearDownRequest, VolumePluginDeps } from './volume-plugin.ts';
import { ToolMissingError } from './run-tool.ts';
import { escapePluginName } from './volume-paths.ts';

/** The data needed to detach a device; no secrets. */
export type DeviceData = Readonly<Record<string, string>>;

/** A device for one pod. */
export interface SharedDevice {
  readonly plugin: string;
  /** Identifies the device. */
  readonly key: string;
  readonly data: DeviceData;
  readonly fsType: string;
  readonly readOnly: boolean;
  readonly block: boolean;
  /** False: the files' group is not changed. */
  readonly fsGroup?: boolean;
  /** Idempotent; resolves to the device's path. */
  attach(): Promise<string>;
  /** Replaces formatting and mounting. False: the default is used. */
  mountDevice?(device: string, target: string): Promise<boolean>;
  /** Replaces the bind mount at `dir`. False: the default is used. */
  publish?(dir: string): Promise<boolean>;
}

export interface SharedDeviceEnd {
  readonly plugin: string;
  unpublish?(data: DeviceData, dir: string): Promise<boolean>;
  unmountDevice?(data: DeviceData, target: string): Promise<boolean>;
  /** `others`: the plugin's devices that other pods use. */
  detach(data: DeviceData, others: readonly DeviceData[]): Promise<void>;
}

interface PodRecord {
  readonly key: string;
  readonly data: DeviceData;
}

/** Makes the device available to the pod. */
export async function setUpShared(
  { pod, spec, dir }: SetUpRequest,
  deps: VolumePluginDeps,
  device: SharedDevice,
): Promise<SetUpResult> {
  const { platform } = deps;
  const { files, mounter } = platform;
  const result = { readOnly: device.readOnly, selinuxRelabel: true };
  const globalPath = globalPathOf(deps, device);
  const path = await deps.locks.run(`${device.plugin} ${device.key}`, async () => {
    await files.makeDir(dir, { mode: 0o750 });
    await writeRecord(files, recordPath(dir), device);
    if (device.block) return device.attach();
    if (!(await mounter.isMountPoint(globalPath))) {
      await files.makeDir(globalPath, { mode: 0o750 });
      const attached = await device.attach();
      if (device.mountDevice === undefined || !(await device.mountDevice(attached, globalPath))) {
        const { fsType, readOnly } = device;
        const options = spec.persistentVolume?.spec?.mountOptions ?? [];
        await formatAndMount(platform, { device: attached, target: globalPath, fsType, readOnly, options });
      }
    }
    return dir;
  });
  if (device.block) return { ...result, hostPath: path, block: true };
  if (!(await mounter.isMountPoint(dir)) && !(await device.publish?.(dir)))
    await mounter.mount({ source: globalPath, target: dir, options: ['bind', ...(device.readOnly ? ['ro'] : [])] });
  if (!device.readOnly && device.fsGroup !== false)
    await setMountOwnership(platform, { path: dir, readOnly: false, ...fsGroupOf(pod) });
  return { ...result, hostPath: dir };
}

/** Removes the device from the pod, and from the node when no other pod uses it. */
export async function tearDownShared(
  { dir }: TearDownRequest,
  deps: VolumePluginDeps,
  end: SharedDeviceEnd,
): Promise<void> {
  const { files, mounter } = deps.platform;
  const path = recordPath(dir);
  const record = await readRecord(files, path);
  // A driver may have done more than mounting.
  const done = record !== undefined && (await end.unpublish?.(record.data, dir)) === true;
  if (!done && (await mounter.isMountPoint(dir))) await mounter.unmount(dir);
  if (record !== undefined) {
    await deps.locks.run(`${end.plugin} ${record.key}`, () => releaseDevice(deps, { end, record, path }));
    await removeDirs(files, path);
  }
  await files.removeDir(dir).catch(ignoreMissingFile);
}

async function releaseDevice(
  deps: VolumePluginDeps,
  { end, record, path }: { readonly end: SharedDeviceEnd; readonly record: PodRecord; readonly path: string },
): Promise<void> {
  const { files, mounter } = deps.platform;
  const others = (await allRecords(deps, end.plugin)).filter((other) => other.path !== path);
  if (!others.some(({ key }) => key === record.key)) {
    const globalPath = globalPathOf(deps, { plugin: end.plugin, key: record.key });
    const mounted = await mounter.isMountPoint(globalPath);
    if (mounted && !(await end.unmountDevice?.(record.data, globalPath))) await mounter.unmount(globalPath);
    await files.removeDir(globalPath).catch(ignoreMissingFile);
    try {
      await end.detach(
        record.data,
        others.map(({ data }) => data),
      );
    } catch (error) {
      // Without its program the device cannot have been attached: the record is written before the first attempt.
      if (mounted || !(error instanceof ToolMissingError)) throw error;
    }
  }
  await files.remove(path);
}

/** `<root>/plugins/kubernetes.io/iscsi/mounts/<key>`. */
function globalPathOf(deps: VolumePluginDeps, { plugin, key }: { plugin: string; key: string }): string {
  return `${deps.kubeletRoot}/plugins/${plugin}/mounts/${encodeURIComponent(key)}`;
}

/** `<pod>/plugins/kubernetes.io~iscsi/<name>/device.json`. */
function recordPath(dir: string): string {
  const at = dir.lastIndexOf('/volumes/');
  return `${dir.slice(0, at)}/plugins/${dir.slice(at + '/volumes/'.length)}/device.json`;
}

async function writeRecord(files: Platform['files'], path: string, { key, data }: SharedDevice): Promise<void> {
  await files.makeDir(path.slice(0, path.lastIndexOf('/')), { mode: 0o750 });
  await files.writeFileAtomic(path, JSON.stringify({ key, data }), { mode: 0o600 });
}

async function readRecord(files: Platform['files'], path: string): Promise<PodRecord | undefined> {
  return (await files.exists(path)) ? (JSON.parse(await files.readText(path)) as PodRecord) : undefined;
}

async function allRecords(deps: VolumePluginDeps, plugin: string): Promise<(PodRecord & { readonly path: string })[]> {
  const { files } = deps.platform;
  const found: (PodRecord & { readonly path: string })[] = [];
  for (const pod of await files.readDir(`${deps.kubeletRoot}/pods`).catch(noEntries)) {
    const dir = `${deps.kubeletRoot}/pods/${pod}/plugins/${escapePluginName(plugin)}`;
    for (const name of await files.readDir(dir).catch(noEntries)) {
      const path = `${dir}/${name}/device.json`;
      const record = await readRecord(files, path);
      if (record !== undefined) found.push({ ...record, path });
    }
  }
  return found;
}

/** The record's directory. */
async function removeDirs(files: Platform['files'], path: string): Promise<void> {
  await files.removeDir(path.slice(0, path.lastIndexOf('/'))).catch(ignoreMissingFile);
}

function noEntries(error: unknown): string[] {
  ignoreMissingFile(error);
  return [];
}
