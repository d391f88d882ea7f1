/** The mount port as a table of mounts. What is mounted shows nothing of its source: volume code is tested on the table. */
import type { MountPoint, Mounter } from '../mounter.ts';

/** The mounts of a simulated host. */
export interface SimMounter extends Mounter {
  /** The table, oldest first. */
  readonly mounts: readonly MountPoint[];
  /** Makes the next mount or unmount of this path fail. */
  failNext(path: string, error: Error): void;
  /** Makes every unmount fail from now on; undefined: no more. */
  failUnmounts(error: Error | undefined): void;
}

/** Makes a host on which nothing is mounted. */
export function createSimMounter(): SimMounter {
  const mounts: MountPoint[] = [];
  const failures = new Map<string, Error>();
  let unmountFailure: Error | undefined;
  const failIfAsked = (path: string): void => {
    const error = failures.get(path);
    failures.delete(path);
    if (error !== undefined) throw error;
  };
  const lastAt = (path: string): number => mounts.findLastIndex((mount) => mount.path === path);
  return {
    mounts,
    failNext: (path, error) => void failures.set(path, error),
    failUnmounts(error) {
      unmountFailure = error;
    },
    async mount({ source, target, type, options = [] }) {
      failIfAsked(target);
      mounts.push({
        source,
        path: target,
        type: type ?? (options.includes('bind') ? 'none' : ''),
        options: [...options],
      });
    },
    async unmount(target) {
      failIfAsked(target);
      if (unmountFailure !== undefined) throw unmountFailure;
      const at = lastAt(target);
      if (at >= 0) mounts.splice(at, 1);
    },
    list: async () => [...mounts],
    isMountPoint: async (path) => lastAt(path) >= 0,
  };
}
