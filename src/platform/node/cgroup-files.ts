/** Reads and removes cgroup directories through the file port: the common part of versions 1 and 2. */
import { hasErrorCode } from '../../base/errors.ts';
import type { Clock } from '../clock.ts';
import type { Files } from '../files.ts';
import { collectPressures, type Pressures } from '../pressure.ts';
import { appendAll } from '../../base/lists.ts';

export interface CgroupDeps {
  readonly files: Files;
  readonly clock: Clock;
  /** Sends SIGKILL; false when there is no such process. */
  readonly kill: (pid: number) => boolean;
}

/** Names of the kernel's own files, which distinguishes them from directories without a stat each. */
const INTERFACE_FILE =
  /^(tasks|notify_on_release|release_agent|(cgroup|cpu|cpuacct|cpuset|memory|io|blkio|pids|hugetlb|rdma|misc|devices|freezer|perf_event|irq|dmem)\.[a-z0-9_.]+)$/i;
const REMOVE_TRIES = 200;
const REMOVE_RETRY_MS = 25;

/** Whether the error says that the file or directory (or the process) is gone. */
export function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENODEV' || code === 'ESRCH';
}

/** The text of a cgroup file; '' when the file or cgroup does not exist. */
export async function readCgroupFile(files: Files, path: string): Promise<string> {
  try {
    return (await files.readText(path)).trim();
  } catch (error) {
    if (isGone(error)) return '';
    throw error;
  }
}

/** Pressures of the cgroup directory, or of the one right below it whose name contains the container's id. */
export async function readPressures(files: Files, path: string, containerId?: string): Promise<Pressures> {
  const directory = containerId === undefined ? path : await containerDirectory(files, path, containerId);
  if (directory === undefined) return {};
  return collectPressures((resource) => readOptional(files, `${directory}/${resource}.pressure`));
}

/** The directory of the container right below `path`: `<id>` by cgroupfs, `cri-containerd-<id>.scope` by systemd. */
export async function containerDirectory(files: Files, path: string, containerId: string): Promise<string | undefined> {
  try {
    const name = (await files.readDir(path)).find((entry) => entry.includes(containerId));
    return name === undefined ? undefined : `${path}/${name}`;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** A kernel started with `psi=0` has the files, but reading them fails. */
async function readOptional(files: Files, path: string): Promise<string> {
  try {
    return await readCgroupFile(files, path);
  } catch (error) {
    if (hasErrorCode(error, 'ENOTSUP')) return '';
    throw error;
  }
}

/** `name value` lines as numbers. */
export function parseFlatKeyed(text: string): Map<string, number> {
  return new Map(
    text.split('\n').map((line) => {
      const [name = '', value = '0'] = line.split(' ');
      return [name, Number(value)];
    }),
  );
}

/** Directories directly below; none when the cgroup does not exist. */
export async function childDirectories(files: Files, path: string): Promise<string[]> {
  const children: string[] = [];
  try {
    for (const name of await files.readDir(path)) {
      if (!INTERFACE_FILE.test(name) && (await files.lstat(`${path}/${name}`)).kind === 'directory')
        children.push(name);
    }
  } catch (error) {
    if (!isGone(error)) throw error;
  }
  return children;
}

/** Pids of the cgroup directory and all below it. */
export async function pidsBelow(files: Files, path: string): Promise<number[]> {
  const text = await readCgroupFile(files, `${path}/cgroup.procs`);
  const pids = text === '' ? [] : text.split('\n').map(Number);
  for (const child of await childDirectories(files, path)) appendAll(pids, await pidsBelow(files, `${path}/${child}`));
  return pids;
}

/** Kills the processes inside, then removes the directories from the bottom up, after the processes have ended. */
export async function destroyTree(deps: CgroupDeps, path: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    for (const pid of await pidsBelow(deps.files, path)) if (pid > 0) deps.kill(pid);
    try {
      return await removeTree(deps.files, path);
    } catch (error) {
      const busy = hasErrorCode(error, 'EBUSY');
      if (!busy || tries >= REMOVE_TRIES) throw error;
      await deps.clock.sleep(REMOVE_RETRY_MS);
    }
  }
}

async function removeTree(files: Files, path: string): Promise<void> {
  for (const child of await childDirectories(files, path)) await removeTree(files, `${path}/${child}`);
  try {
    await files.removeDir(path);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}
