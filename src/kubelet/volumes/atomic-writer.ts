/**
 * Writes a set of files into a directory so that readers see either the old set or the new one. Upstream:
 * pkg/volume/util/atomic_writer.go.
 *
 * Layout: the files are in a time-stamped directory, `..data` links to it, and each top-level name links through
 * `..data`. A change writes a new directory and replaces `..data` by one rename; users of inotify rely on exactly
 * this.
 */
import { formatTime } from '../../api/time.ts';
import { hasErrorCode } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import { appendAll } from '../../base/lists.ts';

/** One file of the set. */
export interface ProjectedFile {
  readonly data: Uint8Array | string;
  readonly mode: number;
  /** The owner, if it is not root. */
  readonly fsUser?: number;
}

/** The whole set, by relative path. */
export type Payload = ReadonlyMap<string, ProjectedFile>;

export interface AtomicWriteRequest {
  readonly files: Files;
  /** Must exist. */
  readonly targetDir: string;
  readonly payload: Payload;
  readonly nowMs: number;
  /** Makes time-stamped names unique. */
  readonly suffix: string;
  /** Sets ownership of the new directory before it becomes visible. */
  readonly setPermissions?: (dir: string) => Promise<void>;
}

const DATA_LINK = '..data';
const NEW_DATA_LINK = '..data_tmp';
const MAX_PATH_LENGTH = 4096;
const MAX_NAME_LENGTH = 255;

/** Throws for a path that would leave the volume or collide with the writer's own names. */
export function validatePayloadPath(path: string): void {
  if (path === '') throw new Error('invalid path: path must not be empty: ""');
  if (path.startsWith('/')) throw new Error(`invalid path: must be relative path: ${path}`);
  if (path.length > MAX_PATH_LENGTH)
    throw new Error(`invalid path: must be less than or equal to ${MAX_PATH_LENGTH} characters`);
  const parts = path.split('/');
  for (const part of parts) {
    if (part === '..') throw new Error(`invalid path: must not contain '..': ${path}`);
    if (part.length > MAX_NAME_LENGTH)
      throw new Error(`invalid path: filenames must be less than or equal to ${MAX_NAME_LENGTH} characters`);
  }
  if (parts[0]!.startsWith('..')) throw new Error(`invalid path: must not start with '..': ${path}`);
}

/** Writes the payload into the directory. Resolves to false when the content was up to date and nothing was changed. */
export async function writeAtomically(request: AtomicWriteRequest): Promise<boolean> {
  const { files, targetDir, payload } = request;
  for (const path of payload.keys()) validatePayloadPath(path);
  const current = await readLinkIfAny(files, `${targetDir}/${DATA_LINK}`);
  const written = current === undefined ? [] : await filesBelow(files, `${targetDir}/${current}`, '');
  const stale = written.filter((path) => !payload.has(path));
  if (current !== undefined && stale.length === 0 && (await isUpToDate(request, current, new Set(written)))) {
    await linkTopNames(files, targetDir, payload);
    return false;
  }
  const stamped = `..${formatTime(request.nowMs).slice(0, 19).replaceAll(/[-T:]/g, '_')}.${request.suffix}`;
  await writeStamped(request, `${targetDir}/${stamped}`);
  await request.setPermissions?.(`${targetDir}/${stamped}`);
  await files.remove(`${targetDir}/${NEW_DATA_LINK}`);
  await files.symlink(stamped, `${targetDir}/${NEW_DATA_LINK}`);
  await files.rename(`${targetDir}/${NEW_DATA_LINK}`, `${targetDir}/${DATA_LINK}`);
  await linkTopNames(files, targetDir, payload);
  await removeStaleNames(request, stamped);
  return true;
}

async function isUpToDate(
  request: AtomicWriteRequest,
  current: string,
  written: ReadonlySet<string>,
): Promise<boolean> {
  const { files, targetDir, payload } = request;
  for (const [path, file] of payload) {
    if (!written.has(path)) return false;
    const data = await files.readFile(`${targetDir}/${current}/${path}`);
    const wanted = typeof file.data === 'string' ? Buffer.from(file.data) : file.data;
    if (Buffer.compare(data, wanted) !== 0) return false;
    // Group permissions may have been added for the fsGroup.
    const { mode } = await files.lstat(`${targetDir}/${current}/${path}`);
    if ((mode & file.mode) !== file.mode) return false;
  }
  return true;
}

async function writeStamped(request: AtomicWriteRequest, dir: string): Promise<void> {
  const { files, payload } = request;
  await files.makeDir(dir, { mode: 0o755 });
  for (const [path, file] of payload) {
    const full = `${dir}/${path}`;
    const parent = full.slice(0, full.lastIndexOf('/'));
    if (parent !== dir) await files.makeDir(parent, { mode: 0o755 });
    await files.writeFile(full, file.data, { mode: file.mode });
    await files.chmod(full, file.mode); // the umask reduces the mode at creation
    if (file.fsUser !== undefined) await files.chown(full, file.fsUser, (await files.lstat(full)).gid);
  }
}

function topNames(payload: Payload): Set<string> {
  return new Set([...payload.keys()].map((path) => path.split('/')[0]!));
}

async function linkTopNames(files: Files, targetDir: string, payload: Payload): Promise<void> {
  const present = new Set(await files.readDir(targetDir));
  for (const name of topNames(payload))
    if (!present.has(name)) await files.symlink(`${DATA_LINK}/${name}`, `${targetDir}/${name}`);
}

/** Removes the writer's dangling links, and earlier time-stamped directories, including those of killed processes. */
async function removeStaleNames(request: AtomicWriteRequest, stamped: string): Promise<void> {
  const { files, targetDir } = request;
  const wanted = topNames(request.payload);
  for (const name of await files.readDir(targetDir)) {
    if (name === DATA_LINK || name === stamped || wanted.has(name)) continue;
    const path = `${targetDir}/${name}`;
    const isOurs = name.startsWith('..') || (await readLinkIfAny(files, path))?.startsWith(`${DATA_LINK}/`) === true;
    if (isOurs) await files.remove(path);
  }
}

async function filesBelow(files: Files, dir: string, prefix: string): Promise<string[]> {
  const paths: string[] = [];
  let names: string[];
  try {
    names = await files.readDir(dir);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return [];
    throw error;
  }
  for (const name of names) {
    const { kind } = await files.lstat(`${dir}/${name}`);
    if (kind === 'directory') appendAll(paths, await filesBelow(files, `${dir}/${name}`, `${prefix}${name}/`));
    else paths.push(`${prefix}${name}`);
  }
  return paths;
}

async function readLinkIfAny(files: Files, path: string): Promise<string | undefined> {
  try {
    return await files.readLink(path);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'EINVAL', 'ENOTDIR')) return undefined;
    throw error;
  }
}
