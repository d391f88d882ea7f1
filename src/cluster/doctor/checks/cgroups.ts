/** Control groups: the version, and the controllers that pods' limits need. */
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';

/** The controllers that upstream's kubelet requires. */
const REQUIRED: readonly string[] = ['cpu', 'cpuset', 'memory', 'pids'];

export const cgroups: Check = {
  name: 'cgroups',
  check({ cgroups: { version, controllers } }) {
    const missing = REQUIRED.filter((name) => !controllers.includes(name));
    const problems: Finding[] = [];
    if (missing.length > 0)
      problems.push(
        failure(
          `no controller ${missing.join(', ')} in cgroup v${version}`,
          missing.includes('memory') ? 'boot with cgroup_enable=memory' : 'a kernel with these controllers',
        ),
      );
    if (version === 1)
      problems.push(
        warning(
          'cgroup v1: no memory QoS, swap and pressure metrics; upstream no longer develops it',
          'boot with systemd.unified_cgroup_hierarchy=1',
        ),
      );
    return worstOf(problems, `v${version} with ${REQUIRED.join(', ')}`);
  },
};
