/** The kernel: its version and the features that containers need. */
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';
import { isAtLeast } from '../versions.ts';

/** The oldest version that upstream's kubeadm accepts. */
const MINIMUM = '4.19';
/** The oldest version for upstream's nftables proxy. */
const FOR_NFTABLES = '5.13';
const NAMESPACES: readonly string[] = ['ipc', 'mnt', 'net', 'pid', 'uts'];

export const kernel: Check = {
  name: 'kernel',
  check({ kernel: { release, namespaces, hasSeccomp } }) {
    const missing = NAMESPACES.filter((kind) => !namespaces.includes(kind));
    const problems: Finding[] = [];
    if (!isAtLeast(release, MINIMUM))
      problems.push(failure(`${release} is older than ${MINIMUM}`, 'a newer kernel of the distribution'));
    else if (!isAtLeast(release, FOR_NFTABLES))
      problems.push(
        warning(
          `${release} is older than ${FOR_NFTABLES}, which nftables service rules are made for`,
          '--proxy-mode iptables',
        ),
      );
    if (missing.length > 0)
      problems.push(
        failure(`no namespaces of kind ${missing.join(', ')}`, 'a kernel with CONFIG_NAMESPACES and its kinds'),
      );
    if (!hasSeccomp)
      problems.push(
        warning('no seccomp: pods with a seccomp profile do not start', 'a kernel with CONFIG_SECCOMP_FILTER'),
      );
    return worstOf(problems, `${release}, with namespaces and seccomp`);
  },
};
