/**
 * Finds instances of Keelson up to 0.1, whose lock is an abstract unix socket. Anybody in the network namespace can
 * take such a name, so only a process of this user counts.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { instanceHash } from './instance.ts';

/** The process of an older version that runs on a data directory; undefined when there is none. */
export function olderInstancePid(dataDir: string): number | undefined {
  const hash = instanceHash(dataDir, (text) => createHash('sha256').update(text).digest('hex'));
  const line = read('/proc/net/unix')
    .split('\n')
    .find((each) => each.endsWith(` @keelson-${hash}`));
  const inode = line?.trim().split(/\s+/)[6];
  if (inode === undefined) return undefined;
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && isOwn(name) && holdsSocket(name, inode));
  return pid === undefined ? undefined : Number(pid);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // not Linux
  }
}

function isOwn(pid: string): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === process.getuid?.();
  } catch {
    return false; // the process has just ended
  }
}

function holdsSocket(pid: string, inode: string): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((name) => readlinkSync(`${folder}/${name}`) === `socket:[${inode}]`);
  } catch {
    return false; // the process, or one of its files, has just gone
  }
}
