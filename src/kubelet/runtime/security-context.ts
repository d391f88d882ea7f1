/**
 * Security contexts for CRI: the container's settings over the pod's. Upstream: kuberuntime/security_context.go,
 * pkg/securitycontext.
 */
import { type Int64 } from '../../api/int64.ts';
import type { Container, Pod, SecurityContext } from '../../api/gen/core-v1.ts';
import type {
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  NamespaceOption,
  SecurityProfile,
  UserNamespace,
} from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';

const DEFAULT_MASKED_PATHS = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const DEFAULT_READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];
const APP_ARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';

/** Node-wide settings. */
export interface SecurityConfig {
  /** Directory of Localhost seccomp profiles. */
  readonly seccompProfileRoot: string;
  /** Pods without a profile get RuntimeDefault. Upstream: --seccomp-default. */
  readonly seccompDefault?: boolean;
}

/** The container's security settings over the pod's. */
function effectiveSecurityContext(pod: Pod, container: Container): SecurityContext {
  const {
    seLinuxOptions,
    runAsUser,
    runAsGroup,
    runAsNonRoot,
    seccompProfile: podSeccompProfile,
    appArmorProfile: podAppArmorProfile,
    windowsOptions,
  } = pod.spec?.securityContext ?? {};
  const fromPod = {
    seLinuxOptions,
    runAsUser,
    runAsGroup,
    runAsNonRoot,
    seccompProfile: podSeccompProfile,
    appArmorProfile: podAppArmorProfile,
    windowsOptions,
  };
  const own = Object.fromEntries(
    Object.entries(container.securityContext ?? {}).filter(([, value]) => value !== undefined && value !== null),
  );
  return { ...fromPod, ...own };
}

/** Namespaces of a container; `targetId` is the container an ephemeral one joins. */
function namespaceOptions(pod: Pod, targetId?: string): Init<NamespaceOption> {
  const spec = pod.spec;
  const pid = spec?.hostPID
    ? 'NODE'
    : targetId !== undefined
      ? 'TARGET'
      : spec?.shareProcessNamespace
        ? 'POD'
        : 'CONTAINER';
  return {
    ipc: spec?.hostIPC ? 'NODE' : 'POD',
    network: spec?.hostNetwork ? 'NODE' : 'POD',
    pid,
    ...(targetId === undefined ? {} : { targetId }),
  };
}

function runtimeSeccompProfile(
  profile: { type: string; localhostProfile?: string } | undefined,
  config: SecurityConfig,
): Init<SecurityProfile> {
  if (profile === undefined) return { profileType: config.seccompDefault ? 'RuntimeDefault' : 'Unconfined' };
  if (profile.type === 'RuntimeDefault') return { profileType: 'RuntimeDefault' };
  if (profile.type !== 'Localhost') return { profileType: 'Unconfined' };
  if (!profile.localhostProfile) throw new Error('localhostProfile must be set if seccompProfile type is Localhost.');
  return { profileType: 'Localhost', localhostRef: `${config.seccompProfileRoot}/${profile.localhostProfile}` };
}

function runtimeAppArmorProfile(
  pod: Pod,
  container: Container,
  effective: SecurityContext,
): Init<SecurityProfile> | undefined {
  const profile = effective.appArmorProfile;
  if (profile !== undefined) {
    if (profile.type === 'Localhost') return { profileType: 'Localhost', localhostRef: profile.localhostProfile ?? '' };
    return { profileType: profile.type === 'Unconfined' ? 'Unconfined' : 'RuntimeDefault' };
  }
  const text = pod.metadata.annotations?.[`${APP_ARMOR_ANNOTATION}${container.name}`];
  if (text === undefined || text === '') return undefined;
  if (text === 'runtime/default') return { profileType: 'RuntimeDefault' };
  if (text === 'unconfined') return { profileType: 'Unconfined' };
  return { profileType: 'Localhost', localhostRef: text.replace(/^localhost\//, '') };
}

/** Validation limits ids to 2^31. */
function int64(value: Int64 | undefined): { value: number } | undefined {
  return value === undefined ? undefined : { value: Number(value) };
}

function supplementalGroups(pod: Pod): number[] {
  const { fsGroup, supplementalGroups: groups = [] } = pod.spec?.securityContext ?? {};
  return (fsGroup === undefined ? groups : [fsGroup, ...groups]).map(Number);
}

/** Checks runAsNonRoot against the image's user. Returns upstream's error, or undefined. */
export function verifyRunAsNonRoot(
  input: { readonly pod: Pod; readonly container: Container } & ReportedImageUser,
): string | undefined {
  const effective = effectiveSecurityContext(input.pod, input.container);
  if (!effective.runAsNonRoot) return undefined;
  const about = `(pod: "${input.pod.metadata.name}_${input.pod.metadata.namespace}(${input.pod.metadata.uid})", container: ${input.container.name})`;
  if (effective.runAsUser !== undefined) {
    return effective.runAsUser === 0 ? `container's runAsUser breaks non-root policy ${about}` : undefined;
  }
  const user = imageUser(input);
  if (user.uid === 0) return `container has runAsNonRoot and image will run as root ${about}`;
  if (user.username === '') return undefined;
  return `container has runAsNonRoot and image has non-numeric user (${user.username}), cannot verify user is non-root ${about}`;
}

/** The user of an image, as CRI reports it. Both are absent when the image sets no user. */
export interface ReportedImageUser {
  readonly imageUid?: number;
  readonly imageUsername: string;
}

/** An image that names no user runs as root. Upstream: getImageUser. */
function imageUser({ imageUid, imageUsername }: ReportedImageUser): {
  readonly uid?: number;
  readonly username: string;
} {
  if (imageUid !== undefined) return { uid: imageUid, username: '' };
  return imageUsername === '' ? { uid: 0, username: '' } : { username: imageUsername };
}

export function containerSecurityContext(
  input: {
    readonly pod: Pod;
    readonly container: Container;
    readonly config: SecurityConfig;
    readonly targetId?: string;
  } & ReportedImageUser,
): Init<LinuxContainerSecurityContext> {
  const { pod, container } = input;
  const effective = effectiveSecurityContext(pod, container);
  const privileged = effective.privileged ?? false;
  const unmasked = effective.procMount === 'Unmasked' || privileged;
  const image = imageUser(input);
  const runAsUser = effective.runAsUser ?? image.uid;
  return {
    capabilities: {
      addCapabilities: capabilityNames(effective.capabilities?.add),
      dropCapabilities: capabilityNames(effective.capabilities?.drop),
    },
    privileged,
    namespaceOptions: namespaceOptions(pod, input.targetId),
    selinuxOptions: effective.seLinuxOptions,
    runAsUser: int64(runAsUser),
    runAsUsername: runAsUser === undefined ? image.username : '',
    runAsGroup: int64(effective.runAsGroup),
    readonlyRootfs: effective.readOnlyRootFilesystem ?? false,
    supplementalGroups: supplementalGroups(pod),
    supplementalGroupsPolicy: pod.spec?.securityContext?.supplementalGroupsPolicy === 'Strict' ? 'Strict' : 'Merge',
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : DEFAULT_MASKED_PATHS,
    readonlyPaths: unmasked ? [] : DEFAULT_READONLY_PATHS,
    seccomp: runtimeSeccompProfile(privileged ? { type: 'Unconfined' } : effective.seccompProfile, input.config),
    apparmor: runtimeAppArmorProfile(pod, container, effective),
  };
}

function capabilityNames(names: readonly string[] | undefined): string[] {
  return (names ?? []).map((name) => name.replace(/^CAP_/, ''));
}

export function sandboxSecurityContext(pod: Pod): Init<LinuxSandboxSecurityContext> {
  const context = pod.spec?.securityContext;
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const privileged = [...containers, ...initContainers, ...ephemeralContainers].some(
    (c) => c.securityContext?.privileged === true,
  );
  return {
    privileged,
    namespaceOptions: namespaceOptions(pod),
    // Differs from upstream: the sandbox's program is a few bytes that only wait for signals, and loading a seccomp
    // filter takes a sixth of a sandbox's start. Containers have their own profiles.
    seccomp: { profileType: 'Unconfined' },
    supplementalGroups: supplementalGroups(pod),
    supplementalGroupsPolicy: context?.supplementalGroupsPolicy === 'Strict' ? 'Strict' : 'Merge',
    runAsUser: context?.runAsUser === undefined ? undefined : int64(context.runAsUser),
    runAsGroup: context?.runAsGroup === undefined ? undefined : int64(context.runAsGroup),
    selinuxOptions: context?.seLinuxOptions,
  };
}

/** Adds the pod's user namespace to a security context, if it has one. */
export function withUserNamespace<T extends { readonly namespaceOptions?: Init<NamespaceOption> | undefined }>(
  context: T,
  userNamespace: Init<UserNamespace> | undefined,
): T {
  if (userNamespace === undefined) return context;
  return { ...context, namespaceOptions: { ...context.namespaceOptions, usernsOptions: userNamespace } };
}
