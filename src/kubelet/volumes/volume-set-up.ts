/**
 * Sets up one volume of a pod: resolves its source, chooses its directory, calls its plugin. Upstream:
 * GenerateMountVolumeFunc in pkg/volume/util/operationexecutor.
 */
import { podUid } from '../types/pod-update.ts';
import type { Pod, Volume } from '../../api/gen/core-v1.ts';
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Files } from '../../platform/files.ts';
import { AttachError } from './csi/csi-attachments.ts';
import { MountDeviceError } from './csi/csi-context.ts';
import type { SetUpProgress } from './pod-volumes.ts';
import type { ReadyVolume } from './wanted-volumes.ts';
import { createStorageMeasure } from './storage-metrics.ts';
import type { VolumePaths } from './volume-paths.ts';
import type { VolumePluginDeps } from './volume-plugin.ts';
import { resolveVolume, type ResolvedVolume } from './volume-resolution.ts';

/** A plugin failed; the message is upstream's, as shown in events. */
export class VolumeSetUpError extends Error {
  constructor(displayName: string, cause: unknown) {
    super(`${operationOf(cause)} failed for volume "${displayName}" : ${errorMessage(cause)}`, { cause });
    this.name = 'VolumeSetUpError';
  }
}

function operationOf(cause: unknown): string {
  if (cause instanceof AttachError) return 'AttachVolume.Attach';
  return cause instanceof MountDeviceError ? 'MountVolume.MountDevice' : 'MountVolume.SetUp';
}

export interface VolumeSetUpDeps {
  readonly client: Client;
  readonly plugins: VolumePluginDeps;
  readonly paths: VolumePaths;
  readonly measured: Pick<Platform, 'clock' | 'metrics'>;
  /** Mounts the node's tmpfs if it is missing. */
  readonly ensureMemory: () => Promise<void>;
}

/** The function rejects with VolumeProcessingError or VolumeSetUpError. */
export function createVolumeSetUp(
  deps: VolumeSetUpDeps,
): (pod: Pod, volume: Volume, progress: SetUpProgress) => Promise<ReadyVolume> {
  const measure = createStorageMeasure(deps.measured);
  return async (pod, volume, progress) => {
    const resolved = await resolveVolume(deps.client, pod, volume);
    progress.resolved(resolved.plugin.name);
    try {
      return await measure(resolved.plugin.name, 'volume_mount', () => setUp(deps, { pod, progress }, resolved));
    } catch (error) {
      if (progress.signal.aborted) throw error;
      throw new VolumeSetUpError(resolved.displayName, error);
    }
  };
}

async function setUp(
  deps: VolumeSetUpDeps,
  { pod, progress }: { readonly pod: Pod; readonly progress: SetUpProgress },
  { spec, plugin, displayName }: ResolvedVolume,
): Promise<ReadyVolume> {
  const uid = podUid(pod);
  // A disk's name, which the directory's name comes from, may have slashes.
  const dir = deps.paths.volumeDir(uid, plugin.name, displayName.replaceAll('/', '~'));
  const medium = spec.source.emptyDir?.medium ?? '';
  if (plugin.place === 'memory') {
    await deps.ensureMemory();
    const memoryDir = deps.paths.memoryVolumeDir(uid, plugin.name, displayName);
    const result = await plugin.setUp({ pod, spec, dir: memoryDir, ...progress }, deps.plugins);
    await linkTo(deps.plugins.platform.files, dir, memoryDir);
    return { ...result, live: plugin.live, content: { path: memoryDir, large: false } };
  }
  const result = await plugin.setUp({ pod, spec, dir, ...progress }, deps.plugins);
  const content = plugin.ownsContent
    ? { content: { path: dir, large: spec.source.emptyDir !== undefined && medium === '' } }
    : {};
  return { ...result, live: plugin.live, ...content };
}

/** Links upstream's path of the volume to its actual directory. */
async function linkTo(files: Files, path: string, target: string): Promise<void> {
  try {
    if ((await files.readLink(path)) === target) return;
    await files.remove(path);
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error;
  }
  await files.makeDir(path.slice(0, path.lastIndexOf('/')), { mode: 0o750 });
  await files.symlink(target, path);
}
