/** Kernel features that may be modules: overlay, nf_tables, br_netfilter, and forwarding. */
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';
import type { KernelFacts } from '../machine.ts';

export const modules: Check = {
  name: 'modules',
  check({ kernel, isRoot }) {
    const { fileSystems, nftError, hasBridgeNetfilter, ipForward } = kernel;
    const problems: Finding[] = [];
    // A mount loads the module automatically.
    if (!fileSystems.includes('overlay') && !kernel.modules.includes('overlay'))
      problems.push(
        failure('no overlay file system: images cannot be unpacked', loading(kernel, 'overlay', 'OVERLAY_FS')),
      );
    if (nftError !== undefined)
      problems.push(failure(`nftables does not work: ${nftError}`, loading(kernel, 'nf_tables', 'NF_TABLES')));
    if (!hasBridgeNetfilter)
      problems.push(
        warning(
          'br_netfilter is not loaded: pods get point-to-point links instead of a bridge',
          loading(kernel, 'br_netfilter', 'BRIDGE_NETFILTER'),
        ),
      );
    if (ipForward === undefined) problems.push(failure('IPv4 forwarding cannot be read', 'mount /proc with /proc/sys'));
    return worstOf(
      problems,
      isRoot ? 'overlay, nf_tables, br_netfilter' : 'overlay, br_netfilter (nf_tables: only root sees)',
    );
  },
};

function loading(kernel: KernelFacts, name: string, option: string): string {
  if (kernel.modules.includes(name)) return `modprobe ${name}, and its name in /etc/modules-load.d/keelson.conf`;
  return `modprobe ${name}, or a kernel with CONFIG_${option}`;
}
