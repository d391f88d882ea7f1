/**
 * Validation of containers, init containers and ephemeral containers. Upstream: apis/core/validation validateContainers,
 * validateInitContainers, validateEphemeralContainers.
 */
import type { StepMeter, Steps } from '../../base/steps.ts';
import type { Field } from '../field-error.ts';
import type { Container, ContainerPort, EphemeralContainer, PodSpec, Volume } from '../gen/core-v1.ts';
import { isDns1123Label } from '../names.ts';
import { isPortName, isPortNumber } from '../value-formats.ts';
import { validateChoice, validateOptionalChoice } from './common.ts';
import { validateIp } from './ip-fields.ts';
import { validateEnv, validateEnvFrom } from './pod-environment.ts';
import { type HandlerScope, validateLifecycle, validateProbe } from './pod-probes.ts';
import { validateResourceRequirements } from './pod-resources.ts';
import { validateSecurityContext } from './pod-security.ts';
import { validateMounts } from './pod-mounts.ts';

/** The parts of a pod that its containers are validated against. */
export interface PodScope {
  readonly spec: PodSpec;
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claims: ReadonlySet<string>;
  readonly handlers: HandlerScope;
  /** True for a pod, whose host ports defaulting has set. A template may leave them out. */
  readonly isPod: boolean;
  readonly meter: StepMeter;
}

/** The work of a container in units of {@link PodScope.meter}; an item of a container's list is one unit. */
const CONTAINER_WORK = 20;

function workOf({ env, envFrom, ports, volumeMounts, volumeDevices }: Container | EphemeralContainer): number {
  const count = (list: readonly unknown[] | undefined): number => list?.length ?? 0;
  return CONTAINER_WORK + count(env) + count(envFrom) + count(ports) + count(volumeMounts) + count(volumeDevices);
}

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];

function validatePorts(ports: readonly ContainerPort[], field: Field): void {
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
    // Upstream accepts any text; here the kernel's rules need an address.
    if ((port.hostIP ?? '') !== '') validateIp(port.hostIP!, place.at('hostIP'));
    validateChoice(port.protocol, ['SCTP', 'TCP', 'UDP'], place.at('protocol'));
  }
}

/** In the host network, a host port must equal the container port. */
export function validateHostNetworkPorts({ spec, isPod }: PodScope, field: Field): void {
  if (spec.hostNetwork !== true) return;
  for (const [index, container] of (spec.containers ?? []).entries())
    for (const [at, { hostPort = 0, containerPort }] of (container.ports ?? []).entries())
      if ((isPod || hostPort !== 0) && hostPort !== containerPort)
        field
          .item(index)
          .at('ports')
          .item(at)
          .at('hostPort')
          .invalid(hostPort, 'must match `containerPort` when `hostNetwork` is true');
}

function validateCommon(container: Container | EphemeralContainer, scope: PodScope, field: Field): void {
  const { name = '', image = '' } = container;
  if (name === '') field.at('name').required();
  else field.at('name').complain(name, isDns1123Label(name));
  if (image === '') field.at('image').required();
  validateChoice(
    container.terminationMessagePolicy,
    ['File', 'FallbackToLogsOnError'],
    field.at('terminationMessagePolicy'),
  );
  validatePorts(container.ports ?? [], field.at('ports'));
  validateEnv(container.env, field.at('env'));
  validateEnvFrom(container.envFrom, field.at('envFrom'));
  validateMounts(container, scope.volumes, field);
  validateChoice(container.imagePullPolicy, PULL_POLICIES, field.at('imagePullPolicy'));
  validateResourceRequirements(container.resources, scope.claims, field.at('resources'));
  validateResizePolicy(container, scope.spec, field.at('resizePolicy'));
  validateSecurityContext(container.securityContext, scope.spec.hostUsers, field.at('securityContext'));
}

/** The image of a pod must not have surrounding whitespace; that of a template may be set later. */
function validateImageText(image: string | undefined, isPod: boolean, field: Field): void {
  if (isPod && (image ?? '') !== (image ?? '').trim())
    field.at('image').invalid(image, 'must not have leading or trailing whitespace');
}

function validateResizePolicy(container: Container | EphemeralContainer, spec: PodSpec, field: Field): void {
  const seen = new Set<string>();
  for (const [index, policy] of (container.resizePolicy ?? []).entries()) {
    if (seen.has(policy.resourceName)) field.item(index).duplicate(policy.resourceName);
    seen.add(policy.resourceName);
    // As upstream, the other errors are reported at the list.
    validateChoice(policy.resourceName, ['cpu', 'memory'], field);
    validateChoice(policy.restartPolicy, ['NotRequired', 'RestartContainer'], field);
    if (spec.restartPolicy === 'Never' && policy.restartPolicy !== 'NotRequired')
      field.invalid(policy.restartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'");
  }
}

const RESTART_POLICIES = ['Always', 'Never', 'OnFailure'];
const MOST_RULES = 20;
const MOST_EXIT_CODES = 255;

function validateRestartRules(container: Container, field: Field): void {
  const rules = container.restartPolicyRules ?? [];
  const policy = container.restartPolicy;
  if (policy === undefined) {
    if (rules.length === 0) return;
    field.at('restartPolicy').required('must specify restartPolicy when restart rules are used');
  } else if (!RESTART_POLICIES.includes(policy)) field.at('restartPolicy').notSupported(policy, RESTART_POLICIES);
  if (rules.length > MOST_RULES) field.at('restartPolicyRules').tooLong(MOST_RULES);
  for (const [index, { action = '', exitCodes }] of rules.entries()) {
    const place = field.at('restartPolicyRules').item(index);
    validateOptionalChoice(action, ['Restart', 'RestartAllContainers'], place.at('action'));
    const at = place.at('exitCodes');
    if (exitCodes === undefined) at.required('must be specified');
    else {
      validateOptionalChoice(exitCodes.operator ?? '', ['In', 'NotIn'], at.at('operator'));
      if ((exitCodes.values ?? []).length > MOST_EXIT_CODES) at.at('values').tooLong(MOST_EXIT_CODES);
    }
  }
}

function validateProbes(container: Container, field: Field): void {
  for (const kind of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const)
    validateProbe(container[kind], kind, field.at(kind));
}

/** Validates the pod's regular containers. */
export function* validateContainers(scope: PodScope, field: Field): Steps<void> {
  const containers = scope.spec.containers ?? [];
  if (containers.length === 0) return field.required();
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const place = field.item(index);
    validateCommon(container, scope, place);
    if (names.has(container.name)) place.at('name').duplicate(container.name);
    names.add(container.name);
    validateLifecycle(container.lifecycle, scope.handlers, place.at('lifecycle'));
    validateProbes(container, place);
    validateRestartRules(container, place);
    validateImageText(container.image, scope.isPod, place);
    if (scope.meter.endsStep(workOf(container))) yield;
  }
  validateHostPorts(containers, field);
}

/** Two containers of a pod cannot use the same port of the node. */
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

const NOT_INIT = 'may not be set for init containers without restartPolicy=Always';

/** Validates init containers; sidecars, which restart always, may have probes. */
export function* validateInitContainers(scope: PodScope, field: Field): Steps<void> {
  const names = new Set((scope.spec.containers ?? []).map(({ name }) => name));
  for (const [index, container] of (scope.spec.initContainers ?? []).entries()) {
    const place = field.item(index);
    const { name = '', restartPolicy } = container;
    validateCommon(container, scope, place);
    if (restartPolicy === 'Always') {
      if ((container.restartPolicyRules ?? []).length > 0)
        place
          .at('restartPolicyRules')
          .forbidden('restartPolicyRules are not allowed for init containers with restart policy Always');
    } else if (restartPolicy !== undefined) validateRestartRules(container, place);
    if (names.has(name)) place.at('name').duplicate(name);
    else if (name !== '') names.add(name);
    validateHostPorts([container], field);
    if (restartPolicy === 'Always') {
      validateLifecycle(container.lifecycle, scope.handlers, place.at('lifecycle'));
      validateProbes(container, place);
    } else
      for (const kind of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const)
        if (container[kind] !== undefined) place.at(kind).forbidden(NOT_INIT);
    validateImageText(container.image, scope.isPod, place);
    if (scope.meter.endsStep(workOf(container))) yield;
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

export function* validateEphemeralContainers(scope: PodScope, field: Field): Steps<void> {
  const targets = new Set(
    [...(scope.spec.containers ?? []), ...(scope.spec.initContainers ?? [])].map(({ name }) => name),
  );
  const names = new Set(targets);
  const why = 'cannot be set for an Ephemeral Container';
  for (const [index, container] of (scope.spec.ephemeralContainers ?? []).entries()) {
    const place = field.item(index);
    validateCommon(container, scope, place);
    validateImageText(container.image, true, place);
    if (names.has(container.name)) place.at('name').duplicate(container.name);
    names.add(container.name);
    const target = container.targetContainerName ?? '';
    if (target !== '' && !targets.has(target)) place.at('targetContainerName').notFound(target);
    for (const name of NOT_EPHEMERAL) {
      const value = container[name];
      if (value !== undefined && !(Array.isArray(value) && value.length === 0)) place.at(name).forbidden(why);
    }
    const { limits, requests, claims } = container.resources ?? {};
    if (limits !== undefined || requests !== undefined || (claims ?? []).length > 0)
      place.at('resources').forbidden(why);
    for (const [at, mount] of (container.volumeMounts ?? []).entries())
      for (const name of ['subPath', 'subPathExpr'] as const)
        if ((mount[name] ?? '') !== '') place.at('volumeMounts').item(at).at(name).forbidden(why);
    if (scope.meter.endsStep(workOf(container))) yield;
  }
}
