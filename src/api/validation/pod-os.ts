/**
 * Validation of fields that pods of one operating system must not have. Upstream: apis/core/validation validateLinux,
 * validateWindows.
 */
import type { Field } from '../field-error.ts';
import type { Container, EphemeralContainer, PodSpec, WindowsSecurityContextOptions } from '../gen/core-v1.ts';
import { isDns1123Subdomain } from '../names.ts';

/** Every container with its field: init containers first, in upstream's order. */
export function* containersOf(spec: PodSpec, field: Field): Generator<[Container | EphemeralContainer, Field]> {
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const)
    for (const [index, container] of (spec[list] ?? []).entries()) yield [container, field.at(list).item(index)];
}

/** Whether the test is true for a container. Faster than `containersOf`, which computes fields. */
export function someContainer(spec: PodSpec, test: (container: Container | EphemeralContainer) => boolean): boolean {
  const { initContainers, containers, ephemeralContainers } = spec;
  return [initContainers, containers, ephemeralContainers].some((list) => list?.some(test) === true);
}

/** Validates the operating system's name, and refuses fields that it does not support. */
export function validateOs(spec: PodSpec, field: Field): void {
  if (spec.os === undefined) return;
  const { name = '' } = spec.os;
  if (name === '') field.at('os').at('name').required();
  else if (name === 'linux') validateLinux(spec, field);
  else if (name === 'windows') validateWindows(spec, field);
  else field.at('os').notSupported(name, ['linux', 'windows']);
}

function validateLinux(spec: PodSpec, field: Field): void {
  const why = 'windows options cannot be set for a linux pod';
  if (spec.securityContext?.windowsOptions !== undefined)
    field.at('securityContext').at('windowsOptions').forbidden(why);
  for (const [container, place] of containersOf(spec, field))
    if (container.securityContext?.windowsOptions !== undefined)
      place.at('securityContext').at('windowsOptions').forbidden(why);
}

const NOT_WINDOWS_OF_POD = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const;
const NOT_WINDOWS_OF_CONTAINER = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const;

function validateWindows(spec: PodSpec, field: Field): void {
  const why = 'cannot be set for a windows pod';
  const isSet = (value: unknown) => value !== undefined && !(Array.isArray(value) && value.length === 0);
  for (const name of NOT_WINDOWS_OF_POD)
    if (isSet(spec.securityContext?.[name])) field.at('securityContext').at(name).forbidden(why);
  if (spec.hostUsers !== undefined) field.at('hostUsers').forbidden(why);
  for (const name of ['hostPID', 'hostIPC'] as const) if (spec[name] === true) field.at(name).forbidden(why);
  if (spec.shareProcessNamespace !== undefined) field.at('shareProcessNamespace').forbidden(why);
  for (const [container, place] of containersOf(spec, field))
    for (const name of NOT_WINDOWS_OF_CONTAINER)
      if (container.securityContext?.[name] !== undefined) place.at('securityContext').at(name).forbidden(why);
}

/** Host process containers: all or none of a pod's containers, and only in the host network. */
export function validateHostProcess(spec: PodSpec, field: Field): void {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  if (ofPod === undefined && !someContainer(spec, hasHostProcess)) return;
  let [all, some] = [0, 0];
  for (const [container, place] of containersOf(spec, field)) {
    const own = container.securityContext?.windowsOptions?.hostProcess;
    if (ofPod !== undefined && own !== undefined && ofPod !== own)
      place
        .at('securityContext')
        .at('windowsOptions')
        .at('hostProcess')
        .invalid(own, `pod hostProcess value must be identical if both are specified, was ${ofPod}`);
    all++;
    if (own ?? ofPod) some++;
  }
  if (some === 0) return;
  if (some !== all)
    field.invalid('', 'If pod contains any hostProcess containers then all containers must be HostProcess containers');
  if (spec.hostNetwork !== true)
    field.at('hostNetwork').invalid(false, 'hostNetwork must be true if pod contains any hostProcess containers');
}

function hasHostProcess({ securityContext }: Container | EphemeralContainer): boolean {
  return securityContext?.windowsOptions?.hostProcess !== undefined;
}

const CREDENTIAL_SPEC_KI_B = 64;

/** Validates Windows options of pods and containers. */
export function validateWindowsOptions(options: WindowsSecurityContextOptions | undefined, field: Field): void {
  if (options === undefined) return;
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: spec, runAsUserName: user } = options;
  if (name !== undefined) field.at('gmsaCredentialSpecName').complain(name, isDns1123Subdomain(name));
  const place = field.at('gmsaCredentialSpec');
  if (spec === '') place.invalid(spec, 'gmsaCredentialSpec cannot be an empty string');
  else if (spec !== undefined && Buffer.byteLength(spec) > CREDENTIAL_SPEC_KI_B * 1024)
    place.invalid(spec, `gmsaCredentialSpec size must be under ${CREDENTIAL_SPEC_KI_B} KiB`);
  if (user !== undefined) field.at('runAsUserName').complain(user, userNameProblems(user));
}

const NET_BIOS_NAME = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const DOMAIN_LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
const domainName = new RegExp(`^${DOMAIN_LABEL}(?:\\.${DOMAIN_LABEL})*$`);
const CONTROLS = /\p{Cc}/u;

/** The errors of a user name: `user` or `DOMAIN\user`. */
function userNameProblems(text: string): string[] {
  if (text === '') return ['runAsUserName cannot be an empty string'];
  if (CONTROLS.test(text)) return ['runAsUserName cannot contain control characters'];
  const parts = text.split('\\');
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash'];
  const [domain, user] = parts.length === 1 ? [undefined, parts[0]!] : [parts[0]!, parts[1]!];
  const problems: string[] = [];
  if (domain !== undefined && Buffer.byteLength(domain) >= 256)
    problems.push("runAsUserName's Domain length must be under 256 characters");
  if (domain !== undefined && !NET_BIOS_NAME.test(domain) && !domainName.test(domain))
    problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  if (user === '') problems.push("runAsUserName's User cannot be empty");
  else if (Buffer.byteLength(user) > 104)
    problems.push("runAsUserName's User length must not be longer than 104 characters");
  if (/^[. ]+$/.test(user)) problems.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) problems.push(BAD_USER_TEXT);
  return problems;
}

const BAD_USER_TEXT = `runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`;
