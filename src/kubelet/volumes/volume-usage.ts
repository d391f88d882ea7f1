/**
 * Space and inodes of a volume's directory. Upstream: pkg/volume/metrics_du.go, util/fs.
 *
 * `du` counts directories that a pod may have filled with a million files; without it, or for content the kubelet
 * wrote, a walk counts one call at a time.
 */
import { hasErrorCode } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';

/** Usage of one directory, and of its file system. */
export interface VolumeUsage {
  readonly usedBytes: number;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesUsed: number;
  readonly inodesFree: number;
}

type UsagePlatform = Pick<Platform, 'files' | 'exec'>;

const DU_DEADLINE_MS = 60_000;
const BLOCK_BYTES = 4096;

/** Measures `path`. `large`: the pod writes it, so `du` counts it. */
export async function measureVolume(platform: UsagePlatform, path: string, large: boolean): Promise<VolumeUsage> {
  const used = (large ? await byProgram(platform, path) : undefined) ?? (await byWalk(platform.files, path));
  const system = await platform.files.statFileSystem(path);
  return {
    usedBytes: used.bytes,
    inodesUsed: used.inodes,
    capacityBytes: system.totalBytes,
    availableBytes: system.availableBytes,
    inodes: system.totalInodes,
    inodesFree: system.availableInodes,
  };
}

interface DiskUse {
  readonly bytes: number;
  readonly inodes: number;
}

async function byProgram({ exec }: UsagePlatform, path: string): Promise<DiskUse | undefined> {
  const count = async (...options: string[]): Promise<number | undefined> => {
    const args = ['--summarize', '--one-file-system', ...options, '--', path];
    const result = await exec.run('du', args, { timeoutMs: DU_DEADLINE_MS, env: { LC_ALL: 'C' } });
    if (result.timedOut) throw new Error(`du ${path} took longer than ${DU_DEADLINE_MS / 1000} s`);
    // du reports files that disappeared while it counted, and still prints the sum.
    const match = /^(\d+)\t/.exec(result.stdout);
    return match === null ? undefined : Number(match[1]);
  };
  try {
    const bytes = await count('--block-size=1');
    const inodes = await count('--inodes');
    return bytes === undefined || inodes === undefined ? undefined : { bytes, inodes };
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Links are not followed and files not opened. Directories nested deeper than a path can name are not counted. */
async function byWalk(files: Platform['files'], root: string): Promise<DiskUse> {
  let bytes = 0;
  let inodes = 0;
  const open = [root];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    try {
      const stat = await files.lstat(path);
      bytes += Math.ceil(stat.sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
      inodes++;
      if (stat.kind !== 'directory') continue;
      for (const name of await files.readDir(path)) open.push(`${path}/${name}`);
    } catch (error) {
      if (!hasErrorCode(error, 'ENOENT') && !hasErrorCode(error, 'ENAMETOOLONG')) throw error;
    }
  }
  return { bytes, inodes };
}
