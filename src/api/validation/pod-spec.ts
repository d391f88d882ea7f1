/** The spec of pods and templates. Upstream: apis/core/validation ValidatePodSpec. */
import type { Field } from '../field-error.ts';
import type { PodDNSConfig, PodSpec } from '../gen/core-v1.ts';
import { validateLabels } from '../meta-validation.ts';
import { inclusiveRangeText, isDns1123Label, isDns1123Subdomain, isQualifiedName } from '../names.ts';
import { validateChoice, validateNonnegativeQuantity, validateOptionalChoice, validateTolerations } from './common.ts';
import { validateIp } from './ip-fields.ts';
import { validateAffinity, validateTopologySpread } from './pod-affinity.ts';
import {
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
  type PodScope,
} from './pod-containers.ts';
import { validateResourceRequirements } from './pod-resources.ts';
import { validatePodSecurityContext } from './pod-security.ts';
import { validateVolumes } from './pod-volumes.ts';

const DNS_POLICIES = ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'];
const MAX_INT32 = 2147483647;

function validateDns(spec: PodSpec, field: Field): void {
  if (!DNS_POLICIES.includes(spec.dnsPolicy ?? '')) {
    if ((spec.dnsPolicy ?? '') === '') field.at('dnsPolicy').required();
    else field.at('dnsPolicy').notSupported(spec.dnsPolicy, DNS_POLICIES);
  }
  const config: PodDNSConfig = spec.dnsConfig ?? {};
  const place = field.at('dnsConfig');
  const { nameservers = [], searches = [], options = [] } = config;
  if (spec.dnsPolicy === 'None' && nameservers.length === 0) {
    (spec.dnsConfig === undefined ? place : place.at('nameservers')).required(
      'must provide at least one DNS nameserver when `dnsPolicy` is None',
    );
  }
  if (nameservers.length > 3) place.at('nameservers').invalid(nameservers, 'must not have more than 3 nameservers');
  for (const [index, server] of nameservers.entries()) validateIp(server, place.at('nameservers').item(index));
  if (searches.length > 32) place.at('searches').invalid(searches, 'must not have more than 32 search paths');
  if (searches.join(' ').length > 2048)
    place
      .at('searches')
      .invalid(searches, 'must not have more than 2048 characters (including spaces) in the search list');
  for (const [index, search] of searches.entries()) {
    const name = search.replace(/\.$/, '');
    if (name !== '')
      place
        .at('searches')
        .item(index)
        .complain(search, isDns1123Subdomain(name.replaceAll('_', '-')));
  }
  for (const [index, option] of options.entries())
    if ((option.name ?? '') === '') place.at('options').item(index).required('must not be empty');
}

function validateHost(spec: PodSpec, field: Field): void {
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    field
      .at('securityContext')
      .at('shareProcessNamespace')
      .invalid(true, 'ShareProcessNamespace and HostPID cannot both be enabled');
  }
  if ((spec.hostname ?? '') !== '') field.at('hostname').complain(spec.hostname, isDns1123Label(spec.hostname!));
  if ((spec.subdomain ?? '') !== '') field.at('subdomain').complain(spec.subdomain, isDns1123Label(spec.subdomain!));
  for (const [index, alias] of (spec.hostAliases ?? []).entries()) {
    const place = field.at('hostAliases').item(index);
    validateIp(alias.ip ?? '', place.at('ip'));
    for (const [at, name] of (alias.hostnames ?? []).entries())
      place.at('hostnames').item(at).complain(name, isDns1123Subdomain(name));
  }
}

function validateNames(spec: PodSpec, field: Field): void {
  for (const name of ['serviceAccountName', 'nodeName', 'priorityClassName', 'runtimeClassName'] as const) {
    const value = spec[name] ?? '';
    if (value !== '') field.at(name).complain(value, isDns1123Subdomain(value));
  }
  for (const [index, secret] of (spec.imagePullSecrets ?? []).entries()) {
    if ((secret.name ?? '') === '') field.at('imagePullSecrets').item(index).at('name').required();
  }
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
    names.add(claim.name);
    if (claim.resourceClaimName !== undefined && claim.resourceClaimTemplateName !== undefined) {
      place.invalid(claim, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified');
    } else if (claim.resourceClaimName === undefined && claim.resourceClaimTemplateName === undefined) {
      place.invalid(claim, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
    }
  }
  return names;
}

function validateNumbers(spec: PodSpec, field: Field): void {
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > MAX_INT32))
    field.at('activeDeadlineSeconds').invalid(deadline, inclusiveRangeText(1, MAX_INT32));
  const grace = spec.terminationGracePeriodSeconds ?? 0;
  if (grace < 0) field.at('terminationGracePeriodSeconds').invalid(grace, 'must be greater than or equal to 0');
  for (const [name, quantity] of Object.entries(spec.overhead ?? {}))
    validateNonnegativeQuantity(quantity, field.at('overhead').key(name));
}

/** The spec of a pod; `podName`: empty in templates. */
export function validatePodSpec(spec: PodSpec, podName: string, field: Field): void {
  const scope: PodScope = {
    spec,
    volumes: validateVolumes(spec.volumes, podName, field.at('volumes')),
    claims: validateClaims(spec, field.at('resourceClaims')),
    graceSeconds: spec.terminationGracePeriodSeconds ?? 0,
    names: new Set(),
  };
  validateContainers(scope, field.at('containers'));
  validateInitContainers(scope, field.at('initContainers'));
  validateEphemeralContainers(scope, field.at('ephemeralContainers'));
  validateResourceRequirements(spec.resources, scope.claims, field.at('resources'));
  validateChoice(spec.restartPolicy, ['Always', 'Never', 'OnFailure'], field.at('restartPolicy'));
  validateDns(spec, field);
  validateLabels(spec.nodeSelector, field.at('nodeSelector'));
  validatePodSecurityContext(spec.securityContext, spec, field.at('securityContext'));
  validateAffinity(spec.affinity, field.at('affinity'));
  validateTolerations(spec.tolerations, field.at('tolerations'));
  validateTopologySpread(spec.topologySpreadConstraints, field.at('topologySpreadConstraints'));
  validateHost(spec, field);
  validateNames(spec, field);
  validateNumbers(spec, field);
  validateOptionalChoice(spec.preemptionPolicy, ['Never', 'PreemptLowerPriority'], field.at('preemptionPolicy'));
  if (spec.os !== undefined) validateChoice(spec.os.name, ['linux', 'windows'], field.at('os').at('name'));
}
