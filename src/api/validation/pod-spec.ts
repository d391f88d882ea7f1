/** Validation of the spec of pods and templates. Upstream: apis/core/validation ValidatePodSpec. */
import { StepMeter, type Steps } from '../../base/steps.ts';
import type { Field } from '../field-error.ts';
import type { PodSpec } from '../gen/core-v1.ts';
import { validateLabels } from '../meta-validation.ts';
import { inclusiveRangeText, isDns1123Label, isDns1123Subdomain, isQualifiedName, maxLengthText } from '../names.ts';
import { validateChoice, validateTolerations } from './common.ts';
import { validateIp } from './ip-fields.ts';
import { validateAffinity, validateTopologySpread } from './pod-affinity.ts';
import {
  type PodScope,
  validateContainers,
  validateEphemeralContainers,
  validateHostNetworkPorts,
  validateInitContainers,
} from './pod-containers.ts';
import { validateFileKeyVolumes } from './pod-environment.ts';
import { validateHostProcess, validateOs } from './pod-os.ts';
import { validatePodResources, validateResourceRequirements } from './pod-resources.ts';
import { validateHostUsers, validatePodSecurityContext } from './pod-security.ts';
import { validateVolumes } from './pod-volumes.ts';

/** In upstream's order. */
const DNS_POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const MAX_INT32 = 2147483647;

const SEARCH_LABEL = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SEARCH_PATTERN = `${SEARCH_LABEL}(\\.${SEARCH_LABEL})*`;
const searchRegex = new RegExp(`^${SEARCH_PATTERN}$`);
const SEARCH_TEXT = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SEARCH_PATTERN}')`;

function validateDnsConfig({ dnsPolicy, dnsConfig }: PodSpec, field: Field): void {
  if (dnsConfig === undefined) {
    if (dnsPolicy === 'None') field.required('must provide `dnsConfig` when `dnsPolicy` is None');
    return;
  }
  const { nameservers = [], searches = [], options = [] } = dnsConfig;
  if (dnsPolicy === 'None' && nameservers.length === 0)
    return field.at('nameservers').required('must provide at least one DNS nameserver when `dnsPolicy` is None');
  if (nameservers.length > 3) field.at('nameservers').invalid(nameservers, 'must not have more than 3 nameservers');
  for (const [index, server] of nameservers.entries()) validateIp(server, field.at('nameservers').item(index));
  validateSearches(searches, field.at('searches'));
  for (const [index, option] of options.entries())
    if ((option.name ?? '') === '') field.at('options').item(index).required('must not be empty');
}

function validateSearches(searches: readonly string[], field: Field): void {
  if (searches.length > 32) field.invalid(searches, 'must not have more than 32 search paths');
  if (Buffer.byteLength(searches.join(' ')) > 2048)
    field.invalid(searches, 'must not have more than 2048 characters (including spaces) in the search list');
  for (const [index, search] of searches.entries()) {
    if (search === '.') continue;
    const name = search.replace(/\.$/, '');
    if (Buffer.byteLength(name) > 253) field.item(index).invalid(name, maxLengthText(253));
    if (!searchRegex.test(name)) field.item(index).invalid(name, SEARCH_TEXT);
  }
}

function validateHostAliases({ hostAliases = [] }: PodSpec, field: Field): void {
  for (const [index, alias] of hostAliases.entries()) {
    const place = field.item(index);
    validateIp(alias.ip ?? '', place.at('ip'));
    for (const [at, name] of (alias.hostnames ?? []).entries())
      place.at('hostnames').item(at).complain(name, isDns1123Subdomain(name));
  }
}

const LONGEST_HOSTNAME = 64;

function validateHostnameOverride(spec: PodSpec, field: Field): void {
  const { hostnameOverride: name } = spec;
  if (name === undefined) return;
  if (spec.setHostnameAsFQDN === true) field.forbidden('may not be specified when setHostnameAsFQDN is true');
  if (spec.hostNetwork === true) field.forbidden('may not be specified when hostNetwork is true');
  if (Buffer.byteLength(name) > LONGEST_HOSTNAME) field.tooLong(LONGEST_HOSTNAME);
  field.complain(name, isDns1123Subdomain(name));
}

/** Fields with names of other objects, in upstream's order. */
const NAME_FIELDS = [
  ['serviceAccountName', isDns1123Subdomain],
  ['nodeName', isDns1123Subdomain],
  ['hostname', isDns1123Label],
  ['subdomain', isDns1123Label],
  ['priorityClassName', isDns1123Subdomain],
] as const;

function validateNames(spec: PodSpec, field: Field): void {
  for (const [name, check] of NAME_FIELDS) {
    const value = spec[name] ?? '';
    if (value !== '') field.at(name).complain(value, check(value));
  }
  const { runtimeClassName } = spec;
  if (runtimeClassName !== undefined)
    field.at('runtimeClassName').complain(runtimeClassName, isDns1123Subdomain(runtimeClassName));
}

function validateGates(spec: PodSpec, field: Field): void {
  for (const [index, gate] of (spec.readinessGates ?? []).entries()) {
    field
      .at('readinessGates')
      .item(index)
      .at('conditionType')
      .complain(gate.conditionType, isQualifiedName(gate.conditionType));
  }
  const gates = new Set<string>();
  for (const [index, gate] of (spec.schedulingGates ?? []).entries()) {
    const place = field.at('schedulingGates').item(index);
    place.complain(gate.name, isQualifiedName(gate.name));
    if (gates.has(gate.name)) place.duplicate(gate.name);
    gates.add(gate.name);
  }
}

function validateClaims(spec: PodSpec, field: Field): Set<string> {
  const names = new Set<string>();
  for (const [index, claim] of (spec.resourceClaims ?? []).entries()) {
    const place = field.item(index);
    if ((claim.name ?? '') === '') place.at('name').required();
    else if (names.has(claim.name)) place.at('name').duplicate(claim.name);
    else place.at('name').complain(claim.name, isDns1123Label(claim.name));
    if ((claim.name ?? '') !== '') names.add(claim.name);
    const { resourceClaimName: own, resourceClaimTemplateName: template } = claim;
    if (own !== undefined && template !== undefined)
      place.invalid(claim, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified');
    if (own === undefined && template === undefined)
      place.invalid(claim, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
    for (const name of ['resourceClaimName', 'resourceClaimTemplateName'] as const)
      if (claim[name] !== undefined) place.at(name).complain(claim[name], isDns1123Subdomain(claim[name]));
  }
  return names;
}

function validateNumbers(spec: PodSpec, field: Field): void {
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > MAX_INT32))
    field.at('activeDeadlineSeconds').invalid(deadline, inclusiveRangeText(1, MAX_INT32));
}

/** Work of one step, some milliseconds, in units of container list items. */
const WORK_PER_STEP = 2000;
const VOLUME_WORK = 5;

/** `podName` is undefined in pod templates. */
export function* validatePodSpec(spec: PodSpec, podName: string | undefined, field: Field): Steps<void> {
  const isPod = podName !== undefined;
  const meter = new StepMeter(WORK_PER_STEP);
  const volumes = validateVolumes(spec.volumes, { podName }, field.at('volumes'));
  if (meter.endsStep(VOLUME_WORK * (spec.volumes?.length ?? 0))) yield;
  const claims = validateClaims(spec, field.at('resourceClaims'));
  const handlers = { graceSeconds: spec.terminationGracePeriodSeconds ?? 0, os: spec.os?.name };
  const scope: PodScope = { spec, volumes, claims, isPod, handlers, meter };
  yield* validateContainers(scope, field.at('containers'));
  if (spec.initContainers !== undefined) yield* validateInitContainers(scope, field.at('initContainers'));
  if (spec.ephemeralContainers !== undefined)
    yield* validateEphemeralContainers(scope, field.at('ephemeralContainers'));
  validatePodResources(spec, claims, field.at('resources'));
  validateHostNetworkPorts(scope, field.at('containers'));
  validateChoice(spec.restartPolicy, ['Always', 'OnFailure', 'Never'], field.at('restartPolicy'));
  validateChoice(spec.dnsPolicy, DNS_POLICIES, field.at('dnsPolicy'));
  if (spec.nodeSelector !== undefined) validateLabels(spec.nodeSelector, field.at('nodeSelector'));
  validatePodSecurityContext(spec.securityContext, spec, field.at('securityContext'));
  if (spec.affinity !== undefined) validateAffinity(spec.affinity, field.at('affinity'));
  validateDnsConfig(spec, field.at('dnsConfig'));
  validateGates(spec, field);
  validateTopologySpread(spec.topologySpreadConstraints, field.at('topologySpreadConstraints'));
  validateHostProcess(spec, field);
  validateHostUsers(spec, field);
  validateHostnameOverride(spec, field.at('hostnameOverride'));
  validateNames(spec, field);
  validateNumbers(spec, field);
  if (meter.endsStep(spec.tolerations?.length ?? 0)) yield;
  validateTolerations(spec.tolerations, field.at('tolerations'));
  validateHostAliases(spec, field.at('hostAliases'));
  if (spec.preemptionPolicy !== undefined)
    validateChoice(spec.preemptionPolicy, ['PreemptLowerPriority', 'Never'], field.at('preemptionPolicy'));
  // As upstream, errors call the overhead's amounts limits.
  if (spec.overhead !== undefined)
    validateResourceRequirements({ limits: spec.overhead }, new Set(), field.at('overhead'));
  validateOs(spec, field);
  validateFileKeyVolumes(spec, field);
}
