/**
 * Looks at a path of the host without being caught by a hung file system. Upstream: pkg/volume/util/hostutil.
 *
 * A call into a dead NFS server or FUSE daemon never returns and keeps one of few threads; so what lies on such a mount is
 * looked at by a program with a deadline.
 */
import type { FileStat } from '../../platform/files.ts';
import type { MountPoint } from '../../platform/mounter.ts';
import type { Platform } from '../../platform/platform.ts';

/** What the check needs. */
export type HostPathDeps = Pick<Platform, 'files' | 'mounter' | 'exec'>;

const statDeadlineMs = 5000;

const kindsOfStat: Readonly<Record<string, FileStat['kind']>> = {
  'regular file': 'file',
  'regular empty file': 'file',
  directory: 'directory',
  socket: 'socket',
  fifo: 'fifo',
  'block special file': 'block',
  'character special file': 'char',
};

/** Whether a call into a file system of this type may never return. */
export function mayHang(type: string): boolean {
  return /^(nfs|nfs4|cifs|smb3|ceph|9p|afs|lustre|fuse(\..*)?|glusterfs)$/.test(type);
}

/** The mount a path lies on: the longest that is its prefix; of equal ones the last. */
export function mountOf(mounts: readonly MountPoint[], path: string): MountPoint | undefined {
  let best: MountPoint | undefined;
  for (const mount of mounts) {
    const prefix = mount.path === '/' ? '/' : `${mount.path}/`;
    if (path !== mount.path && !path.startsWith(prefix)) continue;
    if (best === undefined || mount.path.length >= best.path.length) best = mount;
  }
  return best;
}

/** Kind of what a path leads to, links followed; undefined when nothing is there. Rejects when the file system hangs. */
export async function kindOfHostPath(path: string, deps: HostPathDeps): Promise<FileStat['kind'] | undefined> {
  const mount = mountOf(await deps.mounter.list(), path);
  if (mount !== undefined && mayHang(mount.type)) return kindByProgram(path, mount, deps);
  try {
    return (await deps.files.stat(path)).kind;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function kindByProgram(
  path: string,
  mount: MountPoint,
  deps: HostPathDeps,
): Promise<FileStat['kind'] | undefined> {
  const result = await deps.exec.run('stat', ['--dereference', '--format=%F', '--', path], {
    timeoutMs: statDeadlineMs,
    env: { LC_ALL: 'C' },
  });
  if (result.timedOut)
    throw new Error(
      `${path} did not answer in ${statDeadlineMs / 1000} s: the ${mount.type} file system at ${mount.path} hangs`,
    );
  return result.exitCode === 0 ? kindsOfStat[result.stdout.trim()] : undefined;
}
