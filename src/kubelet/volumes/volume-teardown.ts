/**
 * Tears down all volumes of a pod, of this process or an earlier one: unmounts everything below its directories, then
 * removes the kubelet's own content. Upstream: UnmountVolume, pkg/kubelet/volumemanager/reconciler/reconstruct.go and
 * cleanupOrphanedPodDirs.
 *
 * Invariant: nothing is removed recursively while there is a mount below it, and only the volume's own content is;
 * anything else must be an empty mount point or stays.
 */
import { isAtOrBelow } from '../../base/paths.ts';
import { hasErrorCode } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { MountPoint } from '../../platform/mounter.ts';
import { mayHang } from './host-path-check.ts';
import { volumePlugins } from './plugins/list.ts';
import type { VolumePlugin, VolumePluginDeps } from './volume-plugin.ts';
import { escapePluginName, type VolumePaths } from './volume-paths.ts';

type TeardownPlatform = Pick<Platform, 'files' | 'mounter'>;

const ownContent: ReadonlySet<string> = new Set(
  volumePlugins.filter(({ ownsContent }) => ownsContent).map(({ name }) => escapePluginName(name)),
);

/** Plugins that tear down their volumes themselves, by directory name. */
const othersMount: ReadonlyMap<string, VolumePlugin> = new Map(
  volumePlugins
    .filter(({ tearDown }) => tearDown !== undefined)
    .map((plugin) => [escapePluginName(plugin.name), plugin] as const),
);

/**
 * Rejects when something cannot be unmounted or removed; the next call continues. A volume that fails does not
 * prevent the others.
 */
export async function tearDownPodVolumes(deps: VolumePluginDeps, paths: VolumePaths, podUid: string): Promise<void> {
  const { platform } = deps;
  const { files } = platform;
  const volumesDir = paths.volumesDir(podUid);
  const left = [...othersMount.keys()].map((plugin) => `${volumesDir}/${plugin}`);
  await unmountBelow(platform, [paths.podDir(podUid), paths.memoryPodDir(podUid)], left);
  const failures: unknown[] = [];
  for (const plugin of await readDirIfPresent(files, volumesDir)) {
    for (const name of await readDirIfPresent(files, `${volumesDir}/${plugin}`)) {
      const dir = `${volumesDir}/${plugin}/${name}`;
      try {
        await othersMount.get(plugin)?.tearDown?.({ dir, podUid, name }, deps);
        if (!othersMount.has(plugin)) await removeVolume(files, plugin, dir);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length === 0) await files.removeDir(`${volumesDir}/${plugin}`);
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('; '));
  await files.remove(paths.memoryPodDir(podUid));
}

/** Uids of pods with volumes on disk, in memory, or mounts below their directory. */
export async function podsWithVolumes(platform: TeardownPlatform, paths: VolumePaths): Promise<ReadonlySet<string>> {
  const { files, mounter } = platform;
  const found = new Set(await readDirIfPresent(files, paths.memoryRoot));
  for (const uid of await readDirIfPresent(files, paths.podsDir)) {
    for (const plugin of await readDirIfPresent(files, paths.volumesDir(uid))) {
      if ((await readDirIfPresent(files, `${paths.volumesDir(uid)}/${plugin}`)).length > 0) found.add(uid);
    }
  }
  for (const { path } of await mounter.list()) {
    if (path.startsWith(`${paths.podsDir}/`)) found.add(path.slice(paths.podsDir.length + 1).split('/')[0]!);
  }
  return found;
}

/** Unmounts all below `roots`, but nothing below `except`. */
async function unmountBelow(
  platform: TeardownPlatform,
  roots: readonly string[],
  except: readonly string[],
): Promise<void> {
  const below = (path: string, folders: readonly string[]): boolean => folders.some((root) => isAtOrBelow(path, root));
  const isBelow = ({ path }: MountPoint): boolean => below(path, roots) && !below(path, except);
  const find = async (): Promise<readonly MountPoint[]> => (await platform.mounter.list()).filter(isBelow);
  // In reverse order, as a later mount may be on or below an earlier one.
  for (const mount of (await find()).toReversed()) await unmount(platform, mount);
  const left = await find();
  if (left.length > 0) throw new Error(`still mounted: ${left.map(({ path }) => path).join(', ')}`);
}

/** Unmounts lazily where a server may be gone, whose mount could never be unmounted otherwise. */
async function unmount({ mounter }: TeardownPlatform, { path, type }: MountPoint): Promise<void> {
  try {
    await mounter.unmount(path);
  } catch (error) {
    if (!mayHang(type)) throw error;
    await mounter.unmount(path, { lazy: true });
  }
}

async function removeVolume(files: Platform['files'], plugin: string, path: string): Promise<void> {
  const { kind } = await files.lstat(path);
  if (kind !== 'directory' || ownContent.has(plugin)) await files.remove(path);
  else await files.removeDir(path);
}

async function readDirIfPresent(files: Platform['files'], dir: string): Promise<string[]> {
  try {
    return await files.readDir(dir);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}
