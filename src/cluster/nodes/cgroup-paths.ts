/** Finds the processes of a cgroup and of the cgroups below it by `/proc/PID/cgroup`. */
import { isAtOrBelow } from '../../base/paths.ts';

/**
 * The paths by which /proc names this cgroup, a direct child of the machine's cgroup mounts. They differ from its
 * name where the process sees only part of the tree, as in a container. A cgroup of the same name elsewhere belongs
 * to somebody else.
 */
export function cgroupPaths(mountInfo: string, cgroup: string): ReadonlySet<string> {
  const roots = mountInfo.split('\n').flatMap((line) => {
    const [mount = '', source = ''] = line.split(' - ');
    return /^cgroup2? /.test(source) ? (mount.split(' ')[3] ?? []) : [];
  });
  return new Set(roots.map((root) => `${root === '/' ? '' : root}${cgroup}`));
}

export function isInCgroup(line: string, paths: ReadonlySet<string>): boolean {
  const path = line.split(':').slice(2).join(':');
  return [...paths].some((own) => isAtOrBelow(path, own));
}
