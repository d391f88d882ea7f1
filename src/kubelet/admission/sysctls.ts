/** Which kernel parameters a pod may set. Pure. Upstream: pkg/kubelet/sysctl. */
import type { Pod } from '../../api/gen/core-v1.ts';

/** Namespaced parameters that cannot affect other pods or the node. */
const SAFE_SYSCTLS: readonly string[] = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
];

const IPC_PREFIXES: readonly string[] = ['kernel.shm', 'kernel.msg', 'kernel.sem', 'fs.mqueue.'];

function isAllowed(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name));
}

/** Why the pod may not set its sysctls; undefined when it may. `allowedUnsafe`: names, or prefixes ending in `*`. */
export function forbiddenSysctl(pod: Pod, allowedUnsafe: readonly string[]): string | undefined {
  const allowed = [...SAFE_SYSCTLS, ...allowedUnsafe];
  for (const { name: original } of pod.spec?.securityContext?.sysctls ?? []) {
    const name = original.replaceAll('/', '.');
    if (!isAllowed(name, allowed)) return `forbidden sysctl: "${original}" not allowlisted`;
    if (name.startsWith('net.') && pod.spec?.hostNetwork === true)
      return `forbidden sysctl: "${original}" not allowed with host net enabled`;
    if (IPC_PREFIXES.some((prefix) => name.startsWith(prefix)) && pod.spec?.hostIPC === true)
      return `forbidden sysctl: "${original}" not allowed with host ipc enabled`;
  }
  return undefined;
}
