/**
 * Sub-paths of volumes, safe against a container that replaces a directory by a symbolic link meanwhile. Upstream:
 * pkg/volume/util/subpath.
 *
 * The path is resolved inside the volume and bind-mounted, and the kernel's mount table is then read: a mount of
 * anything but the resolved path of the same file system is undone and refused. Upstream opens component by
 * component, which Node.js cannot. Volumes that may hang are inspected by programs with a deadline.
 */
import { ignoreMissingFile } from '../../base/errors.ts';
import type { Exec } from '../../platform/exec.ts';
import type { Files } from '../../platform/files.ts';
import type { Mounter } from '../../platform/mounter.ts';
import { filesFor, mayHang, resolveLinks } from '../volumes/host-path-check.ts';
import type { PathFiles } from '../volumes/program-files.ts';
import { inDirectory } from './open-inside.ts';
import { subpathsDir, type RuntimePaths } from './paths.ts';

export interface SubpathDeps {
  readonly files: Files;
  readonly mounter: Mounter;
  readonly exec: Exec;
  readonly paths: RuntimePaths;
}

/** A sub-path of a volume, for one mount of a container. */
export interface SubpathRequest {
  readonly podUid: string;
  readonly volumeName: string;
  /** The volume's path on the host. */
  readonly volumePath: string;
  readonly subPath: string;
  readonly containerName: string;
  /** Index of the mount in the container's spec. */
  readonly mountIndex: number;
}

const MAX_LINKS = 255;

const PERMISSION_BITS = 0o777;
const SET_GROUP_ID = 0o2000;

/**
 * Creates a directory with owner and mode of the volume's root, so that the same users may write. Upstream:
 * SafeMakeDir.
 */
async function makeLikeRoot(
  files: PathFiles,
  { root, names, name }: { readonly root: string; readonly names: readonly string[]; readonly name: string },
): Promise<void> {
  const mode = (await files.stat(root)).mode & (PERMISSION_BITS | SET_GROUP_ID);
  const { openPath } = files;
  if (openPath === undefined) return files.makeDir([root, ...names, name].join('/'), { mode });
  await inDirectory({ openPath }, { root, names }, (parent) => files.makeDir(`${parent}/${name}`, { mode }));
}

/**
 * Resolves symbolic links below `root`, which must have none itself; a path that leaves it is an error. Missing
 * directories are created unless `make` is false.
 */
export async function resolveInside(
  files: PathFiles,
  { root, subPath, make = true }: { readonly root: string; readonly subPath: string; readonly make?: boolean },
): Promise<string> {
  const pending = subPath.split('/').filter((part) => part !== '' && part !== '.');
  if (subPath.startsWith('/') || pending.includes('..'))
    throw new Error(`subPath "${subPath}" must be a relative path without ".."`);
  const done: string[] = [];
  let links = 0;
  while (pending.length > 0) {
    const part = pending.shift()!;
    if (part === '.' || part === '') continue;
    if (part === '..') {
      if (done.pop() === undefined) throw new Error(`subPath "${subPath}" leaves the volume`);
      continue;
    }
    const path = [root, ...done, part].join('/');
    const stat = await files.lstat(path).catch(ignoreMissingFile);
    if (stat === undefined && make) await makeLikeRoot(files, { root, names: done, name: part });
    if (stat?.kind !== 'symlink') {
      done.push(part);
      continue;
    }
    if (++links > MAX_LINKS) throw new Error(`subPath "${subPath}": too many symbolic links`);
    const target = await files.readLink(path);
    if (target.startsWith('/')) {
      if (target !== root && !target.startsWith(`${root}/`)) throw new Error(`subPath "${subPath}" leaves the volume`);
      done.length = 0;
      pending.unshift(...target.slice(root.length).split('/'));
    } else pending.unshift(...target.split('/'));
  }
  return [root, ...done].join('/');
}

interface MountInfo {
  readonly device: string;
  readonly root: string;
  readonly path: string;
}

function unescapeOctal(text: string): string {
  return text.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

async function mountInfos(files: Files): Promise<readonly MountInfo[] | undefined> {
  const text = await files.readText('/proc/self/mountinfo').catch(ignoreMissingFile);
  return text
    ?.split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const fields = line.split(' ');
      return { device: fields[2] ?? '', root: unescapeOctal(fields[3] ?? ''), path: unescapeOctal(fields[4] ?? '') };
    });
}

/** Whether exactly `source` is mounted at `target`, by the kernel's mount table. */
export function mountedAsResolved(infos: readonly MountInfo[], source: string, target: string): boolean {
  const mounted = infos.findLast((info) => info.path === target);
  const holds = (info: MountInfo): boolean =>
    info.path === '/' || source === info.path || source.startsWith(`${info.path}/`);
  const holder = infos
    .filter((info) => info.path !== target && holds(info))
    .sort((a, b) => b.path.length - a.path.length)[0];
  if (mounted === undefined || holder === undefined || mounted.device !== holder.device) return false;
  const below = holder.path === '/' ? source : source.slice(holder.path.length);
  const expected = `${holder.root === '/' ? '' : holder.root}${below}`;
  return mounted.root === (expected === '' ? '/' : expected);
}

/** Prepares and removes the bind mounts. */
export interface Subpaths {
  /** Resolves to the host path to hand to the runtime. Rejects when the path leaves the volume. */
  prepare(request: SubpathRequest): Promise<string>;
  /**
   * Unmounts and removes all sub-paths of a pod; no error when there are none. Call it after the pod's containers are
   * gone.
   */
  cleanPod(podUid: string): Promise<void>;
}

export function createSubpaths(deps: SubpathDeps): Subpaths {
  const { files, mounter, paths } = deps;
  const verify = async (source: string, target: string): Promise<void> => {
    const infos = await mountInfos(files);
    if (infos === undefined || mountedAsResolved(infos, source, target)) return;
    await mounter.unmount(target, { lazy: true });
    throw new Error(`subpath ${source} was changed while it was mounted`);
  };

  const makeTarget = async (source: string, target: string, volume: PathFiles): Promise<void> => {
    const stat = await volume.stat(source);
    if (stat.kind === 'directory') await files.makeDir(target, { mode: 0o750 });
    else {
      await files.makeDir(target.slice(0, target.lastIndexOf('/')), { mode: 0o750 });
      if (!(await files.exists(target))) await files.writeFile(target, '', { mode: 0o640 });
    }
  };

  return {
    async prepare(request) {
      const root = await resolveLinks(request.volumePath, deps);
      const volume = await filesFor(root, deps);
      const source = await resolveInside(volume, { root, subPath: request.subPath });
      const target = `${subpathsDir(paths, request.podUid)}/${request.volumeName}/${request.containerName}/${request.mountIndex}`;
      if (await mounter.isMountPoint(target)) await mounter.unmount(target);
      await makeTarget(source, target, volume);
      await mounter.mount({ source, target, options: ['bind'] });
      await verify(source, target);
      return target;
    },
    async cleanPod(podUid) {
      const root = subpathsDir(paths, podUid);
      if (!(await files.exists(root))) return;
      const mounts = (await mounter.list()).filter((mount) => mount.path.startsWith(`${root}/`));
      for (const { path, type } of mounts.toReversed()) await mounter.unmount(path, { lazy: mayHang(type) });
      await files.remove(root);
    },
  };
}
