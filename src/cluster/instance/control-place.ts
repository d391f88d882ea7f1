/**
 * Where an instance is asked and told: a unix socket with mode 0600 in a folder with mode 0700. Root's are in the run
 * directory, as containerd's is; another user's is in the data directory, which that user alone can write.
 */
import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PreflightError } from '../preflight-error.ts';
import { instanceHash } from './instance.ts';

const SOCKET = 'control.sock';
/** A unix socket's address holds 108 bytes with its end, on some systems 104. */
const LONGEST_PATH = 103;

/** What root's instance on this data directory has outside of it. */
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
 * The folder of this data directory's running or last instance; undefined when there is none. Throws `PreflightError` when
 * it is another user's: what another user's process answers is not trusted, root's is not readable.
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

/** Undefined where there is no folder. Asked once: an instance that ends takes its folder away. */
function ownerOfDir(path: string): number | undefined {
  try {
    const stat = statSync(path);
    return stat.isDirectory() ? stat.uid : undefined;
  } catch {
    return undefined; // Not there, or in a folder that is closed to this user.
  }
}

/** The socket's address, valid until `close`. A path that is too long is reached through a descriptor of its folder. */
export function socketAddress(dir: string): { readonly path: string; close(): void } {
  const path = join(dir, SOCKET);
  if (Buffer.byteLength(path) <= LONGEST_PATH) return { path, close: () => undefined };
  const folder = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${folder}/${SOCKET}`, close: () => closeSync(folder) };
}
