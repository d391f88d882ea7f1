/** Security contexts of pods and containers. Upstream: apis/core/validation. */
import type { Field } from '../field-error.ts';
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  Sysctl,
} from '../gen/core-v1.ts';
import { isUnixId } from '../names.ts';
import { validateChoice, validateOptionalChoice } from './common.ts';

function validateId(id: number | undefined, field: Field): void {
  if (id !== undefined) field.complain(id, isUnixId(id));
}

function validateProfile(profile: SeccompProfile | AppArmorProfile | undefined, field: Field): void {
  if (profile === undefined) return;
  validateChoice(profile.type, ['Localhost', 'RuntimeDefault', 'Unconfined'], field.at('type'));
  const path = profile.localhostProfile;
  if (profile.type === 'Localhost') {
    if (path === undefined || path.trim() === '')
      field.at('localhostProfile').required('must be set when type is Localhost');
    else if (path.startsWith('/')) field.at('localhostProfile').invalid(path, 'must be a relative path');
    else if (path.split('/').includes('..')) field.at('localhostProfile').invalid(path, "must not contain '..'");
  } else if (path !== undefined) {
    field.at('localhostProfile').invalid(path, 'can only be set when type is Localhost');
  }
}

const SYSCTL = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;

function validateSysctls(sysctls: readonly Sysctl[], field: Field): void {
  const seen = new Set<string>();
  for (const [index, { name }] of sysctls.entries()) {
    const place = field.item(index).at('name');
    if ((name ?? '') === '') place.required();
    else if (name.length > 253 || !SYSCTL.test(name)) {
      place.invalid(name, `must have at most 253 characters and match regex ${SYSCTL.source}`);
    } else if (seen.has(name)) {
      place.duplicate(name);
    }
    seen.add(name);
  }
}

/** The security context of a pod. */
export function validatePodSecurityContext(context: PodSecurityContext | undefined, spec: PodSpec, field: Field): void {
  if (context === undefined) return;
  validateId(context.runAsUser, field.at('runAsUser'));
  validateId(context.runAsGroup, field.at('runAsGroup'));
  validateId(context.fsGroup, field.at('fsGroup'));
  for (const [index, id] of (context.supplementalGroups ?? []).entries())
    validateId(id, field.at('supplementalGroups').item(index));
  validateOptionalChoice(context.supplementalGroupsPolicy, ['Merge', 'Strict'], field.at('supplementalGroupsPolicy'));
  validateOptionalChoice(context.fsGroupChangePolicy, ['Always', 'OnRootMismatch'], field.at('fsGroupChangePolicy'));
  validateOptionalChoice(context.seLinuxChangePolicy, ['MountOption', 'Recursive'], field.at('seLinuxChangePolicy'));
  validateSysctls(context.sysctls ?? [], field.at('sysctls'));
  validateProfile(context.seccompProfile, field.at('seccompProfile'));
  validateProfile(context.appArmorProfile, field.at('appArmorProfile'));
  validateHostUsers(spec, field);
}

function validateHostUsers(spec: PodSpec, field: Field): void {
  if (spec.hostUsers !== false) return;
  const why = 'when `hostUsers` is false';
  if (spec.hostPID === true) field.at('hostPID').forbidden(why);
  if (spec.hostIPC === true) field.at('HostIPC').forbidden(why);
}

/** The security context of a container. */
export function validateSecurityContext(
  context: SecurityContext | undefined,
  hostUsers: boolean | undefined,
  field: Field,
): void {
  if (context === undefined) return;
  validateId(context.runAsUser, field.at('runAsUser'));
  validateId(context.runAsGroup, field.at('runAsGroup'));
  if (context.procMount !== undefined) {
    validateChoice(context.procMount, ['Default', 'Unmasked'], field.at('procMount'));
    if (context.procMount === 'Unmasked' && hostUsers !== false)
      field.at('procMount').invalid(context.procMount, '`hostUsers` must be false to use `Unmasked`');
  }
  validateProfile(context.seccompProfile, field.at('seccompProfile'));
  validateProfile(context.appArmorProfile, field.at('appArmorProfile'));
  if (context.allowPrivilegeEscalation !== false) return;
  if (context.privileged === true)
    field.invalid(context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true');
  if ((context.capabilities?.add ?? []).includes('CAP_SYS_ADMIN')) {
    field.invalid(context, 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN');
  }
}
