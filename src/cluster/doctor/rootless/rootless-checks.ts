/**
 * The requirements of pods of an unprivileged user. Pure. Upstream: the KEP of the kubelet in a user namespace
 * (2033), rootlesskit's and k3s's requirements.
 */
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';
import { ROOTLESS_PROGRAMS, type RootlessFacts } from './rootless-facts.ts';

type RootlessCheck = Check<RootlessFacts>;

/** The number of ids that container images may use. */
const SUBORDINATE_IDS = 65_536;
/** The controllers that upstream's kubelet requires; by default systemd delegates only memory and pids to users. */
const CONTROLLERS: readonly string[] = ['cpu', 'cpuset', 'memory', 'pids'];
/** The lowest port of routes. */
const LOWEST_PORT = 80;

const namespaces: RootlessCheck = {
  name: 'namespaces',
  check({ namespaces: { max, isCloneAllowed, isRestricted, error } }) {
    const problems: Finding[] = [];
    if (max === undefined) problems.push(failure('the kernel has no user namespaces', 'a kernel with CONFIG_USER_NS'));
    if (max === 0) problems.push(failure('user.max_user_namespaces is 0', 'sysctl -w user.max_user_namespaces=28633'));
    if (isCloneAllowed === false)
      problems.push(failure('kernel.unprivileged_userns_clone is 0', 'sysctl -w kernel.unprivileged_userns_clone=1'));
    if (isRestricted === true)
      problems.push(
        failure(
          'AppArmor restricts user namespaces of users',
          'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or a profile that allows userns',
        ),
      );
    if (problems.length === 0 && error !== undefined)
      problems.push(
        failure(
          `a user namespace cannot be made: ${error}`,
          'what confines this process (a container, seccomp) must allow it',
        ),
      );
    return worstOf(problems, 'the user may make user namespaces');
  },
};

const subordinateIds: RootlessCheck = {
  name: 'subids',
  check({ user: { name, uid }, subordinate: { uids, gids }, programs }) {
    const who = name === '' ? String(uid) : name;
    const problems: Finding[] = [];
    for (const [file, count, flag] of [
      ['/etc/subuid', uids, '--add-subuids'],
      ['/etc/subgid', gids, '--add-subgids'],
    ] as const)
      if (count < SUBORDINATE_IDS)
        problems.push(
          failure(
            count === 0
              ? `${file} has no range of ${who}`
              : `${file} has ${count} ids of ${who}, ${SUBORDINATE_IDS} are needed`,
            `usermod ${flag} 100000-165535 ${who}, a range that nobody has`,
          ),
        );
    const missing = ['newuidmap', 'newgidmap'].filter((program) => !programs.has(program));
    if (missing.length > 0) problems.push(failure(`no ${missing.join(' and ')}`, cureOf(missing)));
    return worstOf(problems, `${uids} users and ${gids} groups, newuidmap, newgidmap`);
  },
};

const network: RootlessCheck = {
  name: 'network',
  check({ programs, hasTun, firstPort }) {
    const found = ['pasta', 'slirp4netns'].filter((program) => programs.has(program));
    const problems: Finding[] = [];
    if (found.length === 0)
      problems.push(failure('no pasta and no slirp4netns', cureOf(['pasta', 'slirp4netns'], ' or ')));
    if (!hasTun) problems.push(failure('/dev/net/tun is not there', 'modprobe tun'));
    if (firstPort > LOWEST_PORT)
      problems.push(
        warning(
          `ports below ${firstPort} are root's: routes cannot be served on 80 and 443`,
          `sysctl -w net.ipv4.ip_unprivileged_port_start=${LOWEST_PORT}`,
        ),
      );
    return worstOf(problems, found.join(', '));
  },
};

const overlay: RootlessCheck = {
  name: 'overlay',
  check({ overlayError, programs, hasFuse }) {
    if (overlayError === undefined) return { level: 'ok', message: "the kernel's, in a user namespace" };
    if (programs.has('fuse-overlayfs') && hasFuse) return { level: 'ok', message: 'fuse-overlayfs' };
    if (programs.has('fuse-overlayfs'))
      return failure("no overlay of the kernel's, and /dev/fuse is not there", 'modprobe fuse');
    return failure(
      `overlay in a user namespace: ${overlayError}`,
      `a kernel from 5.11 on, or ${cureOf(['fuse-overlayfs'])}`,
    );
  },
};

const cgroups: RootlessCheck = {
  name: 'cgroups',
  check({ cgroups: { version, delegated }, user: { name, uid } }) {
    if (version === 1)
      return failure(
        'cgroup v1, which users cannot be given a part of',
        'boot with systemd.unified_cgroup_hierarchy=1',
      );
    if (delegated === undefined)
      return failure(
        `systemd runs nothing for the user: user@${uid}.service is not there`,
        `loginctl enable-linger ${name === '' ? uid : name}, and systemd as init`,
      );
    const missing = CONTROLLERS.filter((controller) => !delegated.includes(controller));
    if (missing.length > 0)
      return failure(
        `the user has no controller ${missing.join(', ')}`,
        'Delegate=cpu cpuset io memory pids in /etc/systemd/system/user@.service.d/delegate.conf, then systemctl daemon-reload and a new login',
      );
    return { level: 'ok', message: `v2, the user has ${CONTROLLERS.join(', ')}` };
  },
};

/** In display order. */
export const ROOTLESS_CHECKS: readonly RootlessCheck[] = [namespaces, subordinateIds, network, overlay, cgroups];

function cureOf(programs: readonly string[], between = ' '): string {
  const packages = [...new Set(programs.map((program) => ROOTLESS_PROGRAMS[program] ?? program))];
  return `apt-get install ${packages.join(between)}`;
}
