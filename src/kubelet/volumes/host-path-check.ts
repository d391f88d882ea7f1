/**
 * Inspects host paths without hanging on a dead file system. Upstream: pkg/volume/util/hostutil.
 *
 * A call into a dead NFS server or FUSE daemon never returns and blocks one of few threads, so paths on such mounts
 * are inspected by a program with a deadline.
 */
import { hasErrorCode } from '../../base/errors.ts';
import type { FileStat } from '../../platform/files.ts';
import type { MountPoint } from '../../platform/mounter.ts';
import type { Platform } from '../../platform/platform.ts';
import { createProgramFiles, type PathFiles } from './program-files.ts';

export type HostPathDeps = Pick<Platform, 'files' | 'mounter' | 'exec'>;

/** Whether a call into a file system of this type may never return. */
export function mayHang(type: string): boolean {
  return /^(nfs|nfs4|cifs|smb3|ceph|9p|afs|lustre|fuse(\..*)?|glusterfs)$/.test(type);
}

/** The mount of a path: the longest that is its prefix; of equal ones the last. */
export function mountOf(mounts: readonly MountPoint[], path: string): MountPoint | undefined {
  let best: MountPoint | undefined;
  for (const mount of mounts) {
    const prefix = mount.path === '/' ? '/' : `${mount.path}/`;
    if (path !== mount.path && !path.startsWith(prefix)) continue;
    if (best === undefined || mount.path.length >= best.path.length) best = mount;
  }
  return best;
}

/** File operations for paths below `path`: by the port, or by programs where the file system may hang. */
export async function filesFor(path: string, deps: HostPathDeps): Promise<PathFiles> {
  return filesOn(await deps.mounter.list(), path, deps);
}

function filesOn(mounts: readonly MountPoint[], path: string, { files, exec }: HostPathDeps): PathFiles {
  const mount = mountOf(mounts, path);
  return mount !== undefined && mayHang(mount.type) ? createProgramFiles(exec, mount) : files;
}

const MAX_LINKS = 255;

/** The path with links resolved. Rejects when it does not exist. */
export async function resolveLinks(path: string, deps: HostPathDeps): Promise<string> {
  const mounts = await deps.mounter.list();
  const pending = path.split('/');
  let done = '';
  for (let links = 0; pending.length > 0;) {
    const part = pending.shift()!;
    if (part === '' || part === '.') continue;
    if (part === '..') {
      done = done.slice(0, Math.max(done.lastIndexOf('/'), 0));
      continue;
    }
    const next = `${done}/${part}`;
    const files = filesOn(mounts, next, deps);
    if ((await files.lstat(next)).kind !== 'symlink') {
      done = next;
      continue;
    }
    if (++links > MAX_LINKS) throw new Error(`${path}: too many symbolic links`);
    const target = await files.readLink(next);
    if (target.startsWith('/')) done = '';
    pending.unshift(...target.split('/'));
  }
  return done === '' ? '/' : done;
}

/**
 * The kind of file at the path, links resolved; undefined when it does not exist. Rejects when the file system hangs.
 */
export async function kindOfHostPath(path: string, deps: HostPathDeps): Promise<FileStat['kind'] | undefined> {
  try {
    return (await (await filesFor(path, deps)).stat(path)).kind;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
