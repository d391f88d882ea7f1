/**
 * The node's tmpfs for volumes that must not be written to disk, mounted once and kept over restarts. A secret has at
 * most a megabyte and containers cannot write there, so one file system without a limit per pod suffices.
 */
import type { Platform } from '../../platform/platform.ts';
import type { VolumePaths } from './volume-paths.ts';

/** The first kernel whose tmpfs supports `noswap`. */
const NOSWAP_KERNEL = [6, 4] as const;

/** Returns a function that mounts it at the first call, and again after a failure. */
export function createMemoryVolumes(
  platform: Pick<Platform, 'files' | 'mounter' | 'host'>,
  paths: VolumePaths,
): () => Promise<void> {
  let mounted: Promise<void> | undefined;
  const mount = async (): Promise<void> => {
    await platform.files.makeDir(paths.memoryRoot, { mode: 0o750 });
    if (await platform.mounter.isMountPoint(paths.memoryRoot)) return;
    const { kernelVersion } = await platform.host.info();
    const options = ['mode=0750', ...(isAtLeast(kernelVersion, NOSWAP_KERNEL) ? ['noswap'] : [])];
    await platform.mounter.mount({ source: 'tmpfs', target: paths.memoryRoot, type: 'tmpfs', options });
  };
  return () =>
    (mounted ??= mount().catch((error: unknown) => {
      mounted = undefined;
      throw error;
    }));
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const match = /^(\d+)\.(\d+)/.exec(version);
  if (match === null) return false;
  const [have, haveMinor] = [Number(match[1]), Number(match[2])];
  return have > major || (have === major && haveMinor >= minor);
}
