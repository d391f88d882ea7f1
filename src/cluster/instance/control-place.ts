/**
 * The location of an instance's control socket: a unix socket with mode 0600 in a folder with mode 0700. For root it
 * is in the run directory, like containerd's; for other users in the data directory, which only they can write.
 */
import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PreflightError } from '../preflight-error.ts';
import { instanceHash } from './instance.ts';

const SOCKET = 'control.sock';
/** The length limit of a socket path: 108 bytes with the terminator, on some systems 104. */
const LONGEST_PATH = 103;

/** The run directory of root's instance on this data directory. */
export function rootRunDir(dataDir: string): string {
  return `/run/keelson/${instanceHash(dataDir, (text) => createHash('sha256').update(text).digest('hex'))}`;
}

/** The folder of root's control socket. */
export function rootControlDir(dataDir: string): string {
  return `${rootRunDir(dataDir)}/control`;
}

/** The folder of the control socket of an instance that this user starts. */
export function ownControlDir(dataDir: string): string {
  return process.getuid?.() === 0 ? rootControlDir(dataDir) : join(dataDir, 'control');
}

/**
 * The folder of this data directory's running or last instance; undefined when there is none. Throws `PreflightError`
 * when it belongs to another user, whose process is not trusted (and root's is not readable).
 */
export function controlDirOf(dataDir: string): string | undefined {
  for (const path of [ownControlDir(dataDir), rootControlDir(dataDir), join(dataDir, 'control')]) {
    const uid = ownerOfDir(path);
    if (uid === undefined) continue;
    if (uid === process.getuid?.()) return path;
    const owner = uid === 0 ? 'root' : `the user with id ${uid}`;
    throw new PreflightError(`the cluster on ${dataDir} belongs to ${owner}, who alone can ask it`);
  }
  return undefined;
}

/** Undefined when the folder does not exist. One call, since an ending instance removes its folder. */
function ownerOfDir(path: string): number | undefined {
  try {
    const stat = statSync(path);
    return stat.isDirectory() ? stat.uid : undefined;
  } catch {
    return undefined; // missing, or in a folder that this user may not enter
  }
}

/**
 * The socket's address, valid until `close`. A path that is too long is addressed through a descriptor of its folder.
 */
export function socketAddress(dir: string): { readonly path: string; close(): void } {
  const path = join(dir, SOCKET);
  if (Buffer.byteLength(path) <= LONGEST_PATH) return { path, close: () => undefined };
  const folder = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${folder}/${SOCKET}`, close: () => closeSync(folder) };
}
