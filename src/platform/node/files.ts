/** The real file system. */
import { execFile } from 'node:child_process';
import { constants, type Stats, watch as watchPath } from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import { wrapMethods } from '../../base/wrap-methods.ts';
import type { FileHandle, Files, FileStat, FileWatch, PathHandle } from '../files.ts';
import type { Log } from '../log.ts';
import { guarded } from '../unexpected.ts';

/** Makes the file port of this process. A watcher's callback that throws goes to `log`; without one, it ends the process. */
export function createNodeFiles(log?: Log): Files {
  return wrapMethods(filesOf(log), (_name, method) => (...values) => {
    try {
      const result = method(...values);
      return result instanceof Promise
        ? result.catch((error: unknown) => Promise.reject(asSystemError(error)))
        : result;
    } catch (error) {
      throw asSystemError(error);
    }
  });
}

/**
 * A path with a zero byte, which a runtime or plugin may send, is EINVAL as in Go; Node.js treats it as a program
 * error.
 */
function asSystemError(error: unknown): unknown {
  if (!hasErrorCode(error, 'ERR_INVALID_ARG_VALUE')) return error;
  return Object.assign(new Error(`EINVAL: invalid argument: ${errorMessage(error)}`), { code: 'EINVAL' });
}

function filesOf(log: Log | undefined): Files {
  let temporary = 0;
  return {
    readFile: (path) => fs.readFile(path),
    readText: (path) => fs.readFile(path, 'utf8'),
    writeFile: (path, data, options) => fs.writeFile(path, data, { mode: options?.mode ?? 0o666 }),
    writeFileAtomic: (path, data, options) =>
      writeAtomic({ path, data, mode: options?.mode ?? 0o644, suffix: `${process.pid}-${temporary++}` }),
    open,
    openPath,
    stat: async (path) => toFileStat(await fs.stat(path)),
    lstat: async (path) => toFileStat(await fs.lstat(path)),
    exists,
    readDir: async (path) => (await fs.readdir(path)).sort(),
    makeDir,
    remove,
    removeDir: (path) => fs.rmdir(path),
    rename: (from, to) => fs.rename(from, to),
    symlink: (target, path) => fs.symlink(target, path),
    readLink: (path) => fs.readlink(path),
    chmod: (path, mode) => fs.chmod(path, mode),
    chown: (path, uid, gid) => fs.chown(path, uid, gid),
    async statFileSystem(path) {
      const stat = await fs.statfs(path);
      return {
        totalBytes: stat.blocks * stat.bsize,
        availableBytes: stat.bavail * stat.bsize,
        totalInodes: stat.files,
        availableInodes: stat.ffree,
      };
    },
    watch: (path, onChange, onError) =>
      log === undefined
        ? watch(path, onChange, onError)
        : watch(path, guarded(log, 'a file watcher threw', onChange), guarded(log, 'a file watcher threw', onError)),
  };
}

/**
 * Removes directories nested beyond the longest path, as containers may create them: `rm` changes into each.
 * Directories are also held by descriptor, so that one replaced by a link leads nowhere else; Node's own function
 * uses paths.
 */
async function remove(path: string, options: { readonly mayChange?: boolean } = {}): Promise<void> {
  if (options.mayChange === true) {
    await promisify(execFile)('rm', ['-rf', '--one-file-system', '--', path]);
    return;
  }
  try {
    await fs.rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!hasErrorCode(error, 'ENAMETOOLONG')) throw error;
    await promisify(execFile)('rm', ['-rf', '--', path]);
  }
}

async function openRegular(path: string, followLinks: boolean): Promise<fs.FileHandle> {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  // libuv adds O_CLOEXEC.
  const handle = await fs.open(path, O_RDONLY | O_NONBLOCK | (followLinks ? 0 : O_NOFOLLOW));
  try {
    const stat = await handle.stat();
    if (stat.isFile()) return handle;
    const message = `EINVAL: ${path} is a ${kindOf(stat)}, not a regular file, open '${path}'`;
    throw Object.assign(new Error(message), { code: 'EINVAL', syscall: 'open', path });
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function open(
  path: string,
  flags: 'r' | 'a',
  options: { readonly followLinks?: boolean; readonly mode?: number } = {},
): Promise<FileHandle> {
  const handle =
    flags === 'a'
      ? await fs.open(path, 'a+', options.mode ?? 0o666)
      : await openRegular(path, options.followLinks ?? false);
  return {
    async read(offset, length) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, offset);
      return buffer.subarray(0, bytesRead);
    },
    append: (data) => handle.appendFile(data),
    stat: async () => toFileStat(await handle.stat()),
    sync: () => handle.sync(),
    close: () => handle.close(),
  };
}

/** Linux's O_PATH, which Node.js does not name. */
const O_PATH = 0o10000000;

async function openPath(path: string): Promise<PathHandle> {
  const handle = await fs.open(path, O_PATH | constants.O_NOFOLLOW);
  return {
    path: `/proc/self/fd/${handle.fd}`,
    stat: async () => toFileStat(await handle.stat()),
    close: () => handle.close(),
  };
}

async function exists(path: string): Promise<boolean> {
  try {
    await fs.access(path, constants.F_OK);
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

async function makeDir(path: string, options?: { mode?: number }): Promise<void> {
  const created = await fs.mkdir(path, { recursive: true });
  // mkdir's own mode is restricted by the umask.
  if (created !== undefined && options?.mode !== undefined) await fs.chmod(path, options.mode);
}

async function writeAtomic(request: {
  path: string;
  data: string | Uint8Array;
  mode: number;
  suffix: string;
}): Promise<void> {
  const folder = dirname(request.path);
  const beside = join(folder, `.${basename(request.path)}.tmp-${request.suffix}`);
  try {
    const handle = await fs.open(beside, 'w', request.mode);
    try {
      await handle.chmod(request.mode);
      await handle.writeFile(request.data);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await fs.rename(beside, request.path);
  } catch (error) {
    await fs.rm(beside, { force: true });
    throw naming(request.path, error);
  }
  const directory = await fs.open(folder, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Adds the path to errors of open files, such as that of a full disk. */
function naming(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || 'path' in error) return error;
  error.message += ` '${path}'`;
  return Object.assign(error, { path });
}

/** Watches a file through its directory, since a watch on the file itself ends when a rename replaces it. */
function watch(path: string, onChange: () => void, onError: (error: Error) => void): FileWatch {
  let stopped = false;
  let close = (): void => undefined;
  const fail = (error: Error): void => {
    if (stopped) return;
    stopped = true;
    close();
    onError(error);
  };
  const start = async (): Promise<void> => {
    const isDirectory = (await fs.stat(path)).isDirectory();
    if (stopped) return;
    const name = basename(path);
    const watcher = watchPath(isDirectory ? path : dirname(path), { persistent: false }, (_event, changed) => {
      if (!stopped && (isDirectory || changed === null || changed === name)) onChange();
    });
    watcher.on('error', fail);
    close = () => watcher.close();
  };
  start().catch(fail);
  return {
    stop() {
      stopped = true;
      close();
    },
  };
}

function toFileStat(stat: Stats): FileStat {
  return {
    kind: kindOf(stat),
    sizeBytes: stat.size,
    mode: stat.mode & 0o7777,
    uid: stat.uid,
    gid: stat.gid,
    mtimeMs: stat.mtimeMs,
    dev: stat.dev,
    ino: stat.ino,
  };
}

function kindOf(stat: Stats): FileStat['kind'] {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  if (stat.isSymbolicLink()) return 'symlink';
  if (stat.isSocket()) return 'socket';
  if (stat.isFIFO()) return 'fifo';
  return stat.isBlockDevice() ? 'block' : 'char';
}
