/** Containers of all three sorts. Upstream: apis/core/validation validateContainers, validateInitContainers, validateEphemeralContainers. */
import type { Field } from '../field-error.ts';
import type { Container, ContainerPort, EphemeralContainer, PodSpec, Volume } from '../gen/core-v1.ts';
import { isDns1123Label, isPortName, isPortNumber } from '../names.ts';
import { validateChoice, validateOptionalChoice } from './common.ts';
import { validateIp } from './ip-fields.ts';
import { validateEnv, validateEnvFrom } from './pod-environment.ts';
import { validateLifecycle, validateProbe } from './pod-probes.ts';
import { validateResourceRequirements } from './pod-resources.ts';
import { validateSecurityContext } from './pod-security.ts';
import { validateMounts } from './pod-volumes.ts';

/** What containers are checked against. */
export interface PodScope {
  readonly spec: PodSpec;
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claims: ReadonlySet<string>;
  readonly graceSeconds: number;
  /** Names in use so far, across all sorts. */
  readonly names: Set<string>;
}

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];

function validatePorts(ports: readonly ContainerPort[], hostNetwork: boolean, field: Field): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const place = field.item(index);
    const name = port.name ?? '';
    if (name !== '') {
      if (isPortName(name).length > 0) place.at('name').complain(name, isPortName(name));
      else if (names.has(name)) place.at('name').duplicate(name);
      names.add(name);
    }
    if ((port.containerPort ?? 0) === 0) place.at('containerPort').required();
    else place.at('containerPort').complain(port.containerPort, isPortNumber(port.containerPort));
    if ((port.hostPort ?? 0) !== 0) place.at('hostPort').complain(port.hostPort, isPortNumber(port.hostPort!));
    if ((port.hostIP ?? '') !== '') validateIp(port.hostIP!, place.at('hostIP'));
    validateChoice(port.protocol, ['SCTP', 'TCP', 'UDP'], place.at('protocol'));
    if (hostNetwork && (port.hostPort ?? 0) !== port.containerPort) {
      place.at('containerPort').invalid(port.containerPort, 'must match `hostPort` when `hostNetwork` is true');
    }
  }
}

function validateCommon(container: Container | EphemeralContainer, scope: PodScope, field: Field): void {
  const { name = '', image = '' } = container;
  if (name === '') field.at('name').required();
  else field.at('name').complain(name, isDns1123Label(name));
  if (scope.names.has(name)) field.at('name').duplicate(name);
  else if (name !== '') scope.names.add(name);
  if (image !== image.trim()) field.at('image').invalid(image, 'must not have leading or trailing whitespace');
  validateChoice(
    container.terminationMessagePolicy,
    ['FallbackToLogsOnError', 'File'],
    field.at('terminationMessagePolicy'),
  );
  validatePorts(container.ports ?? [], scope.spec.hostNetwork === true, field.at('ports'));
  validateEnv(container.env, field.at('env'));
  validateEnvFrom(container.envFrom, field.at('envFrom'));
  validateMounts(container, scope.volumes, field);
  validateChoice(container.imagePullPolicy, PULL_POLICIES, field.at('imagePullPolicy'));
  validateResourceRequirements(container.resources, scope.claims, field.at('resources'));
  validateResizePolicy(container, scope.spec, field.at('resizePolicy'));
  validateSecurityContext(container.securityContext, scope.spec.hostUsers, field.at('securityContext'));
}

function validateResizePolicy(container: Container | EphemeralContainer, spec: PodSpec, field: Field): void {
  const seen = new Set<string>();
  for (const policy of container.resizePolicy ?? []) {
    if (seen.has(policy.resourceName)) field.duplicate(policy.resourceName);
    seen.add(policy.resourceName);
    if (policy.resourceName !== 'cpu' && policy.resourceName !== 'memory')
      field.notSupported(policy.resourceName, ['cpu', 'memory']);
    validateChoice(policy.restartPolicy, ['NotRequired', 'RestartContainer'], field);
    if (
      spec.restartPolicy === 'Never' &&
      policy.restartPolicy === 'RestartContainer' &&
      container.restartPolicy !== 'Always'
    ) {
      field.invalid(policy.restartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
  }
}

function validateRestartRules(container: Container, field: Field): void {
  const rules = container.restartPolicyRules ?? [];
  if (rules.length > 0 && container.restartPolicy === undefined)
    field.at('restartPolicy').required('must specify restartPolicy when restart rules are used');
  if (rules.length > 20) field.at('restartPolicyRules').tooLong(20);
  for (const [index, rule] of rules.entries()) {
    const place = field.at('restartPolicyRules').item(index);
    validateChoice(rule.action, ['Restart', 'RestartAllContainers'], place.at('action'));
    if (rule.exitCodes === undefined) place.at('exitCodes').required('must be specified');
    else validateChoice(rule.exitCodes.operator, ['In', 'NotIn'], place.at('exitCodes').at('operator'));
  }
}

function validateProbes(container: Container, field: Field): void {
  for (const kind of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const)
    validateProbe(container[kind], kind, field.at(kind));
}

/** The pod's own containers. */
export function validateContainers(scope: PodScope, field: Field): void {
  const containers = scope.spec.containers ?? [];
  if (containers.length === 0) return field.required();
  for (const [index, container] of containers.entries()) {
    const place = field.item(index);
    validateCommon(container, scope, place);
    if ((container.image ?? '') === '') place.at('image').required();
    validateLifecycle(container.lifecycle, scope.graceSeconds, place.at('lifecycle'));
    validateProbes(container, place);
    validateOptionalChoice(container.restartPolicy, ['Always', 'Never', 'OnFailure'], place.at('restartPolicy'));
    validateRestartRules(container, place);
  }
  validateHostPorts(containers, field);
}

/** Two containers of a pod cannot have the same port of the node. */
function validateHostPorts(containers: readonly Container[], field: Field): void {
  const seen = new Set<string>();
  for (const [index, container] of containers.entries()) {
    for (const [at, port] of (container.ports ?? []).entries()) {
      if ((port.hostPort ?? 0) === 0) continue;
      const text = `${port.protocol}/${port.hostIP ?? ''}/${port.hostPort}`;
      if (seen.has(text)) field.item(index).at('ports').item(at).at('hostPort').duplicate(text);
      seen.add(text);
    }
  }
}

/** Init containers; those that restart always are sidecars and may be probed. */
export function validateInitContainers(scope: PodScope, field: Field): void {
  for (const [index, container] of (scope.spec.initContainers ?? []).entries()) {
    const place = field.item(index);
    validateCommon(container, scope, place);
    if ((container.image ?? '') === '') place.at('image').required();
    validateOptionalChoice(container.restartPolicy, ['Always', 'Never', 'OnFailure'], place.at('restartPolicy'));
    validateRestartRules(container, place);
    if (container.restartPolicy === 'Always') {
      validateLifecycle(container.lifecycle, scope.graceSeconds, place.at('lifecycle'));
      validateProbes(container, place);
      continue;
    }
    const { postStart, preStop } = container.lifecycle ?? {};
    if (postStart !== undefined || preStop !== undefined)
      place.at('lifecycle').forbidden('may not be set for init containers without restartPolicy=Always');
    for (const kind of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
      if (container[kind] !== undefined)
        place.at(kind).forbidden('may not be set for init containers without restartPolicy=Always');
    }
  }
}

const NOT_EPHEMERAL = [
  'lifecycle',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'ports',
] as const;

/** Ephemeral containers. */
export function validateEphemeralContainers(scope: PodScope, field: Field): void {
  for (const [index, container] of (scope.spec.ephemeralContainers ?? []).entries()) {
    const place = field.item(index);
    validateCommon(container, scope, place);
    if ((container.image ?? '') === '') place.at('image').required();
    const target = container.targetContainerName ?? '';
    const targets = [...(scope.spec.containers ?? []), ...(scope.spec.initContainers ?? [])];
    if (target !== '' && !targets.some((other) => other.name === target))
      place.at('targetContainerName').notFound(target);
    for (const name of NOT_EPHEMERAL) {
      const value = container[name];
      if (value !== undefined && !(Array.isArray(value) && value.length === 0))
        place.at(name).forbidden('cannot be set for an Ephemeral Container');
    }
    const { limits, requests } = container.resources ?? {};
    if (limits !== undefined || requests !== undefined)
      place.at('resources').forbidden('cannot be set for an Ephemeral Container');
    for (const [at, mount] of (container.volumeMounts ?? []).entries()) {
      for (const name of ['subPath', 'subPathExpr'] as const) {
        if ((mount[name] ?? '') !== '')
          place.at('volumeMounts').item(at).at(name).forbidden('cannot be set for an Ephemeral Container');
      }
    }
  }
}
