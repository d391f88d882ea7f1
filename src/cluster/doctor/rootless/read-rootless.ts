/**
 * Reads the facts for pods of an unprivileged user. Tries namespaces and overlay mounts in a short-lived process;
 * changes nothing.
 */
import { errorMessage } from '../../../base/errors.ts';
import type { Files } from '../../../platform/files.ts';
import type { Platform } from '../../../platform/platform.ts';
import { readCgroups } from '../read-kernel.ts';
import { ROOTLESS_PROGRAMS, type RootlessFacts } from './rootless-facts.ts';

const DIRECTORIES = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const TIMEOUT_MS = 10_000;
const DEFAULT_FIRST_PORT = 1024;

/** Everything is created below a tmpfs in the namespace, which disappears with it. */
const MOUNT_OVERLAY =
  'mount -t tmpfs none /tmp && cd /tmp && mkdir l u w m && mount -t overlay none -o lowerdir=l,upperdir=u,workdir=w m';

export async function readRootless(
  { files, exec }: Pick<Platform, 'files' | 'exec'>,
  user: RootlessFacts['user'],
): Promise<RootlessFacts> {
  const number = async (path: string): Promise<number | undefined> => {
    const text = await files.readText(path).catch(() => undefined);
    return text === undefined ? undefined : Number(text.trim());
  };
  const isSet = async (path: string): Promise<boolean | undefined> => {
    const value = await number(path);
    return value === undefined ? undefined : value !== 0;
  };
  const attempt = async (...args: string[]): Promise<string | undefined> => {
    try {
      const { exitCode, stderr } = await exec.run('unshare', ['--user', '--map-root-user', '--mount', ...args], {
        timeoutMs: TIMEOUT_MS,
      });
      return exitCode === 0 ? undefined : (stderr.trim().split('\n')[0] ?? `exit code ${exitCode}`);
    } catch (error) {
      return errorMessage(error);
    }
  };
  const own = `/sys/fs/cgroup/user.slice/user-${user.uid}.slice/user@${user.uid}.service/cgroup.controllers`;
  const delegated = await files.readText(own).catch(() => undefined);
  const programs: string[] = [];
  for (const program of Object.keys(ROOTLESS_PROGRAMS)) if (await isThere(files, program)) programs.push(program);
  return {
    user,
    namespaces: {
      max: await number('/proc/sys/user/max_user_namespaces'),
      isCloneAllowed: await isSet('/proc/sys/kernel/unprivileged_userns_clone'),
      isRestricted: await isSet('/proc/sys/kernel/apparmor_restrict_unprivileged_userns'),
      error: await attempt('true'),
    },
    subordinate: {
      uids: subordinateIds(await files.readText('/etc/subuid').catch(() => ''), user),
      gids: subordinateIds(await files.readText('/etc/subgid').catch(() => ''), user),
    },
    programs: new Set(programs),
    hasTun: await files.exists('/dev/net/tun'),
    hasFuse: await files.exists('/dev/fuse'),
    overlayError: await attempt('sh', '-c', MOUNT_OVERLAY),
    cgroups: { version: (await readCgroups(files)).version, delegated: delegated?.trim().split(' ') },
    firstPort: (await number('/proc/sys/net/ipv4/ip_unprivileged_port_start')) ?? DEFAULT_FIRST_PORT,
  };
}

/** The number of a user's ids in the lines `NAME-OR-UID:FIRST:COUNT`. Pure. */
export function subordinateIds(text: string, { name, uid }: RootlessFacts['user']): number {
  return text
    .split('\n')
    .map((line) => line.trim().split(':'))
    .filter(([owner = '']) => owner !== '' && (owner === name || owner === String(uid)))
    .reduce((sum, [, , count = '0']) => sum + (Number(count) || 0), 0);
}

async function isThere(files: Files, program: string): Promise<boolean> {
  for (const directory of DIRECTORIES) if (await files.exists(`${directory}/${program}`)) return true;
  return false;
}
