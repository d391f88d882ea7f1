/** The checks of level baseline, sorted by upstream's names. Upstream: pod-security-admission/policy/check_*.go. */
import type { Lifecycle, Probe, SELinuxOptions } from '../../../api/gen/core-v1.ts';
import {
  type Check,
  type CheckedPod,
  containersText,
  distinct,
  namesOf,
  plural,
  quoted,
  settersText,
  type Violation,
} from './check.ts';
import { forbiddenProcMount } from './proc-mount.ts';

const APPARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';

/** Whether a type of AppArmor or seccomp profile is not allowed. */
function isForbiddenProfile(type: string | undefined): boolean {
  return type !== undefined && !['RuntimeDefault', 'Localhost'].includes(type);
}

function appArmor(pod: CheckedPod): Violation | undefined {
  const ofPod = isForbiddenProfile(pod.spec.securityContext?.appArmorProfile?.type);
  const names = namesOf(pod, (c) => isForbiddenProfile(c.securityContext?.appArmorProfile?.type));
  const values = [pod.spec.securityContext, ...pod.containers.map((c) => c.securityContext)]
    .map((context) => context?.appArmorProfile?.type ?? '')
    .filter((type) => type !== '' && isForbiddenProfile(type));
  const annotations = Object.entries(pod.metadata.annotations ?? {})
    .filter(([key, value]) => key.startsWith(APPARMOR_PREFIX) && !isAllowedAppArmor(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .toSorted();
  const details = [...annotations];
  if (ofPod || names.length > 0)
    details.unshift(`${settersText(ofPod, names)} must not set AppArmor profile type to ${quoted(distinct(values))}`);
  if (details.length === 0) return undefined;
  const count = annotations.length + values.length;
  return {
    reason: plural(count, 'forbidden AppArmor profile', 'forbidden AppArmor profiles'),
    detail: details.join(', '),
  };
}

function isAllowedAppArmor(value: string): boolean {
  return value === '' || value === 'runtime/default' || value.startsWith('localhost/');
}

const DEFAULT_CAPABILITIES = new Set(
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'.split(
    ' ',
  ),
);

function capabilities(pod: CheckedPod): Violation | undefined {
  const extra = (added: readonly string[] = []): string[] => added.filter((one) => !DEFAULT_CAPABILITIES.has(one));
  const names = namesOf(pod, (c) => extra(c.securityContext?.capabilities?.add).length > 0);
  if (names.length === 0) return undefined;
  const all = distinct(pod.containers.flatMap((c) => extra(c.securityContext?.capabilities?.add)));
  const detail = `${containersText(names)} must not include ${quoted(all)} in securityContext.capabilities.add`;
  return { reason: 'non-default capabilities', detail };
}

function hostNamespaces({ spec }: CheckedPod): Violation | undefined {
  const set = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => spec[field] === true);
  return set.length === 0
    ? undefined
    : { reason: 'host namespaces', detail: set.map((field) => `${field}=true`).join(', ') };
}

function hostPathVolumes({ spec }: CheckedPod): Violation | undefined {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return { reason: 'hostPath volumes', detail: `${plural(names.length, 'volume', 'volumes')} ${quoted(names)}` };
}

function hostPorts(pod: CheckedPod): Violation | undefined {
  const names = namesOf(pod, (c) => (c.ports ?? []).some(({ hostPort = 0 }) => hostPort !== 0));
  if (names.length === 0) return undefined;
  const ports = distinct(
    pod.containers.flatMap((c) =>
      (c.ports ?? []).filter(({ hostPort = 0 }) => hostPort !== 0).map((p) => String(p.hostPort)),
    ),
  );
  const uses = plural(names.length, 'uses', 'use');
  const detail = `${containersText(names)} ${uses} ${plural(ports.length, 'hostPort', 'hostPorts')} ${ports.join(', ')}`;
  return { reason: 'hostPort', detail };
}

type Handler = Pick<Probe, 'httpGet' | 'tcpSocket'> | undefined;

function hostsOf(handlers: readonly Handler[]): string[] {
  return handlers
    .flatMap((handler) => [handler?.httpGet?.host ?? '', handler?.tcpSocket?.host ?? ''])
    .filter((host) => host !== '');
}

function containerHosts(container: CheckedPod['containers'][number]): string[] {
  const { livenessProbe, readinessProbe, startupProbe } = container;
  const lifecycle: Lifecycle = container.lifecycle ?? {};
  return hostsOf([livenessProbe, readinessProbe, startupProbe, lifecycle.postStart, lifecycle.preStop]);
}

function hostProbes(pod: CheckedPod): Violation | undefined {
  const names = distinct(namesOf(pod, (c) => containerHosts(c).length > 0));
  if (names.length === 0) return undefined;
  const hosts = distinct(pod.containers.flatMap(containerHosts));
  const what = plural(hosts.length, 'probe or lifecycle host', 'probe or lifecycle hosts');
  const detail = `${containersText(names)} ${plural(names.length, 'uses', 'use')} ${what} ${quoted(hosts)}`;
  return { reason: 'probe or lifecycle host', detail };
}

function privileged(pod: CheckedPod): Violation | undefined {
  const names = namesOf(pod, (c) => c.securityContext?.privileged === true);
  if (names.length === 0) return undefined;
  return { reason: 'privileged', detail: `${containersText(names)} must not set securityContext.privileged=true` };
}

const SE_LINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t'];

function seLinux(pod: CheckedPod, minor: number): Violation | undefined {
  const types = minor >= 31 ? [...SE_LINUX_TYPES, 'container_engine_t'] : SE_LINUX_TYPES;
  const isBad = (options: SELinuxOptions | undefined): boolean =>
    options !== undefined &&
    (!types.includes(options.type ?? '') || (options.user ?? '') !== '' || (options.role ?? '') !== '');
  const ofPod = isBad(pod.spec.securityContext?.seLinuxOptions);
  const names = namesOf(pod, (c) => isBad(c.securityContext?.seLinuxOptions));
  if (!ofPod && names.length === 0) return undefined;
  const all = [pod.spec.securityContext, ...pod.containers.map((c) => c.securityContext)].map(
    (context) => context?.seLinuxOptions ?? {},
  );
  const bad = distinct(all.map(({ type = '' }) => type).filter((type) => !types.includes(type)));
  const data = [
    ...(bad.length > 0 ? [`${plural(bad.length, 'type', 'types')} ${quoted(bad)}`] : []),
    ...(all.some(({ user = '' }) => user !== '') ? ['user may not be set'] : []),
    ...(all.some(({ role = '' }) => role !== '') ? ['role may not be set'] : []),
  ];
  const detail = `${settersText(ofPod, names)} set forbidden securityContext.seLinuxOptions: ${data.join('; ')}`;
  return { reason: 'seLinuxOptions', detail };
}

function seccomp(pod: CheckedPod): Violation | undefined {
  const ofPod = isForbiddenProfile(pod.spec.securityContext?.seccompProfile?.type);
  const names = namesOf(pod, (c) => isForbiddenProfile(c.securityContext?.seccompProfile?.type));
  if (!ofPod && names.length === 0) return undefined;
  const values = [pod.spec.securityContext, ...pod.containers.map((c) => c.securityContext)]
    .map((context) => context?.seccompProfile?.type)
    .filter((type) => type !== undefined && isForbiddenProfile(type)) as string[];
  const detail = `${settersText(ofPod, names)} must not set securityContext.seccompProfile.type to ${quoted(distinct(values))}`;
  return { reason: 'seccompProfile', detail };
}

/** Allowed since which minor version. */
const SAFE_SYSCTLS: Readonly<Record<string, number>> = {
  'kernel.shm_rmid_forced': 0,
  'net.ipv4.ip_local_port_range': 0,
  'net.ipv4.tcp_syncookies': 0,
  'net.ipv4.ping_group_range': 0,
  'net.ipv4.ip_unprivileged_port_start': 0,
  'net.ipv4.ip_local_reserved_ports': 27,
  'net.ipv4.tcp_keepalive_time': 29,
  'net.ipv4.tcp_fin_timeout': 29,
  'net.ipv4.tcp_keepalive_intvl': 29,
  'net.ipv4.tcp_keepalive_probes': 29,
  'net.ipv4.tcp_rmem': 32,
  'net.ipv4.tcp_wmem': 32,
};

function sysctls({ spec }: CheckedPod, minor: number): Violation | undefined {
  const bad = (spec.securityContext?.sysctls ?? [])
    .map(({ name }) => name)
    .filter((name) => !Object.hasOwn(SAFE_SYSCTLS, name) || SAFE_SYSCTLS[name]! > minor);
  if (bad.length === 0) return undefined;
  return { reason: plural(bad.length, 'forbidden sysctl', 'forbidden sysctls'), detail: bad.join(', ') };
}

function windowsHostProcess(pod: CheckedPod): Violation | undefined {
  const ofPod = pod.spec.securityContext?.windowsOptions?.hostProcess === true;
  const names = namesOf(pod, (c) => c.securityContext?.windowsOptions?.hostProcess === true);
  if (!ofPod && names.length === 0) return undefined;
  const detail = `${settersText(ofPod, names)} must not set securityContext.windowsOptions.hostProcess=true`;
  return { reason: 'hostProcess', detail };
}

/** Level baseline. */
export const baselineChecks: readonly Check[] = [
  { id: 'appArmorProfile', since: 0, run: appArmor },
  { id: 'capabilities_baseline', since: 0, run: capabilities },
  { id: 'hostNamespaces', since: 0, run: hostNamespaces },
  { id: 'hostPathVolumes', since: 0, run: hostPathVolumes },
  { id: 'hostPorts', since: 0, run: hostPorts },
  { id: 'hostProbesAndHostLifecycle', since: 34, run: hostProbes },
  { id: 'privileged', since: 0, run: privileged },
  {
    id: 'procMount',
    since: 0,
    run: (pod, minor) => (minor >= 35 && pod.spec.hostUsers === false ? undefined : forbiddenProcMount(pod)),
  },
  { id: 'seLinuxOptions', since: 0, run: seLinux },
  { id: 'seccompProfile_baseline', since: 0, run: seccomp },
  { id: 'sysctls', since: 0, run: sysctls },
  { id: 'windowsHostProcess', since: 0, run: windowsHostProcess },
];
