/** Validation of security contexts. Upstream: apis/core/validation. */
import { type Int64 } from '../int64.ts';
import type { Field } from '../field-error.ts';
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  Sysctl,
} from '../gen/core-v1.ts';
import { isUnixId } from '../value-formats.ts';
import { validateOptionalChoice } from './common.ts';
import { containersOf, validateWindowsOptions } from './pod-os.ts';
import { validateLocalPath } from './volume-sources.ts';

function validateId(id: Int64 | undefined, field: Field): void {
  if (id !== undefined) field.complain(id, isUnixId(Number(id)));
}

const PROFILE_TYPES = ['Localhost', 'RuntimeDefault', 'Unconfined'];

function validateSeccomp(profile: SeccompProfile | undefined, field: Field): void {
  if (profile === undefined) return;
  const { type = '', localhostProfile: path } = profile;
  if (type === '') field.at('type').required('type is required when seccompProfile is set');
  else if (!PROFILE_TYPES.includes(type)) field.at('type').notSupported(type, PROFILE_TYPES);
  const place = field.at('localhostProfile');
  if (type !== 'Localhost') {
    if (path !== undefined) place.invalid(profile, 'can only be set when seccomp type is Localhost');
  } else if (path === undefined) place.required('must be set when seccomp type is Localhost');
  else validateLocalPath(path, place);
}

const LONGEST_PROFILE_PATH = 4095;

function validateAppArmor(profile: AppArmorProfile | undefined, field: Field): void {
  if (profile === undefined) return;
  const { type = '', localhostProfile: path } = profile;
  const place = field.at('localhostProfile');
  const required = 'must be set when AppArmor type is Localhost';
  if (type === 'Localhost') {
    if (path === undefined) return place.required(required);
    if (path.trim() !== path) place.invalid(path, 'must not be padded with whitespace');
    else if (path === '') place.required(required);
    if (Buffer.byteLength(path) > LONGEST_PROFILE_PATH) place.tooLong(LONGEST_PROFILE_PATH);
  } else if (type === '') field.at('type').required('type is required when appArmorProfile is set');
  else if (!PROFILE_TYPES.includes(type)) field.at('type').notSupported(type, PROFILE_TYPES);
  else if (path !== undefined) place.invalid(path, 'can only be set when AppArmor type is Localhost');
}

const SYSCTL = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';
const sysctlRegex = new RegExp(SYSCTL);

/** The field by which the pod shares the sysctl's namespace with its node; undefined when it does not share it. */
function sharedBy(name: string, { hostNetwork, hostIPC }: PodSpec): string | undefined {
  const dotted = name.replaceAll('/', '.');
  if (hostNetwork === true && dotted.startsWith('net.')) return 'hostNetwork';
  const ofIpc = /^(?:kernel\.(?:shm|msg)|fs\.mqueue\.)/.test(dotted) || dotted === 'kernel.sem';
  return hostIPC === true && ofIpc ? 'hostIPC' : undefined;
}

function validateSysctls(sysctls: readonly Sysctl[], spec: PodSpec, field: Field): void {
  const seen = new Set<string>();
  for (const [index, { name }] of sysctls.entries()) {
    const place = field.item(index).at('name');
    if ((name ?? '') === '') place.required();
    else if (name.length > 253 || !sysctlRegex.test(name)) {
      place.invalid(name, `must have at most 253 characters and match regex ${SYSCTL}`);
    } else if (seen.has(name)) {
      place.duplicate(name);
    }
    const shared = sharedBy(name ?? '', spec);
    if (shared !== undefined) place.invalid(name, `may not be specified when '${shared}' is true`);
    seen.add(name);
  }
}

export function validatePodSecurityContext(context: PodSecurityContext | undefined, spec: PodSpec, field: Field): void {
  // In the API these fields stand beside the context; in upstream's internal type they are part of it.
  if (spec.shareProcessNamespace === true && spec.hostPID === true)
    field.at('shareProcessNamespace').invalid(true, 'ShareProcessNamespace and HostPID cannot both be enabled');
  if (context === undefined) return;
  validateId(context.fsGroup, field.at('fsGroup'));
  validateId(context.runAsUser, field.at('runAsUser'));
  validateId(context.runAsGroup, field.at('runAsGroup'));
  for (const [index, id] of (context.supplementalGroups ?? []).entries())
    validateId(id, field.at('supplementalGroups').item(index));
  validateSysctls(context.sysctls ?? [], spec, field.at('sysctls'));
  validateOptionalChoice(context.fsGroupChangePolicy, ['Always', 'OnRootMismatch'], field.at('fsGroupChangePolicy'));
  validateSeccomp(context.seccompProfile, field.at('seccompProfile'));
  validateWindowsOptions(context.windowsOptions, field.at('windowsOptions'));
  validateAppArmor(context.appArmorProfile, field.at('appArmorProfile'));
  validateOptionalChoice(context.supplementalGroupsPolicy, ['Merge', 'Strict'], field.at('supplementalGroupsPolicy'));
  validateOptionalChoice(context.seLinuxChangePolicy, ['MountOption', 'Recursive'], field.at('seLinuxChangePolicy'));
}

/** Refuses host namespaces that a pod with its own user namespace cannot share. */
export function validateHostUsers(spec: PodSpec, field: Field): void {
  if (spec.hostUsers !== false) return;
  const why = 'when `hostUsers` is false';
  if (spec.hostNetwork === true) field.at('hostNetwork').forbidden(why);
  // As upstream, these two paths begin with capital letters.
  if (spec.hostPID === true) field.at('HostPID').forbidden(why);
  if (spec.hostIPC === true) field.at('HostIPC').forbidden(why);
  for (const [container, place] of containersOf(spec, field))
    if ((container.volumeDevices ?? []).length > 0) place.at('volumeDevices').forbidden(why);
}

/** Validates a container's security context. */
export function validateSecurityContext(
  context: SecurityContext | undefined,
  hostUsers: boolean | undefined,
  field: Field,
): void {
  if (context === undefined) return;
  validateId(context.runAsUser, field.at('runAsUser'));
  validateId(context.runAsGroup, field.at('runAsGroup'));
  if (context.procMount !== undefined) {
    validateOptionalChoice(context.procMount, ['Default', 'Unmasked'], field.at('procMount'));
    if (context.procMount === 'Unmasked' && hostUsers !== false)
      field.at('procMount').invalid(context.procMount, '`hostUsers` must be false to use `Unmasked`');
  }
  validateSeccomp(context.seccompProfile, field.at('seccompProfile'));
  validateEscalation(context, field);
  validateWindowsOptions(context.windowsOptions, field.at('windowsOptions'));
  validateAppArmor(context.appArmorProfile, field.at('appArmorProfile'));
}

function validateEscalation(context: SecurityContext, field: Field): void {
  if (context.allowPrivilegeEscalation !== false) return;
  if (context.privileged === true)
    field.invalid(context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true');
  if ((context.capabilities?.add ?? []).includes('CAP_SYS_ADMIN')) {
    field.invalid(context, 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN');
  }
}
