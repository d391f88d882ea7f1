/**
 * Instances of Keelson up to 0.1 held an abstract unix socket as their lock. Such a name can be taken by anybody in the
 * network namespace, so only a process of this very user counts.
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
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && isOwn(name) && holds(name, inode));
  return pid === undefined ? undefined : Number(pid);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // No Linux.
  }
}

function isOwn(pid: string): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === process.getuid?.();
  } catch {
    return false; // It has just ended.
  }
}

function holds(pid: string, inode: string): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((name) => readlinkSync(`${folder}/${name}`) === `socket:[${inode}]`);
  } catch {
    return false; // It, or one of its files, has just gone.
  }
}
