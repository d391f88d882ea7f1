/**
 * Validates a complete configuration. Upstream: ValidateKubeletConfiguration, with its messages; further refusals are
 * Keelson's.
 */
import { parseDurationMs } from '../../api/duration.ts';
import { openSslCipher } from '../../component-helpers/tls-names.ts';
import { tryParseQuantity } from '../../api/quantity.ts';
import { allowlistComplaint } from '../images/pull-verification.ts';
import { parseCpuSet } from '../cpu-manager/cpu-set.ts';
import { tracingSettings } from '../../component-helpers/tracing/tracing-configuration.ts';
import { errorMessage } from '../../base/errors.ts';
import { complaintsAboutGates, gateEnabled } from './feature-gates.ts';
import type { KubeletConfigurationV1Beta1 } from './fields.ts';
import { refusals } from './refusals.ts';
import { evictionComplaints } from './validate-eviction.ts';

type Check = (c: KubeletConfigurationV1Beta1) => readonly (string | false)[];

const ms = (text: string): number => parseDurationMs(text) ?? Number.NaN;
const quoted = JSON.stringify;
const between = (value: number, low: number, high: number): boolean => value >= low && value <= high;

function negative(flag: string, name: string, value: number): string | false {
  return value < 0 && `${name} (--${flag}) ${value} must not be a negative number`;
}

function portOf(flag: string, name: string, { value, least }: { value: number; least: number }): string | false {
  return !between(value, least, 65_535) && `${name} (--${flag}) ${value} must be between ${least} and 65535, inclusive`;
}

const server: Check = (c) => [
  c.enableServer && portOf('port', 'port', { value: c.port, least: 1 }),
  c.healthzPort !== 0 && portOf('healthz-port', 'healthzPort', { value: c.healthzPort, least: 1 }),
  portOf('read-only-port', 'readOnlyPort', { value: c.readOnlyPort, least: 0 }),
  negative('event-burst', 'eventBurst', c.eventBurst),
  negative('event-qps', 'eventRecordQPS', c.eventRecordQPS),
  negative('kube-api-burst', 'kubeAPIBurst', c.kubeAPIBurst),
  !between(c.oomScoreAdj, -1000, 1000) &&
    `oomScoreAdj (--oom-score-adj) ${c.oomScoreAdj} must be between -1000 and 1000, inclusive`,
  c.serverTLSBootstrap &&
    !gateEnabled(c.featureGates, 'RotateKubeletServerCertificate') &&
    'serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate',
  !['AlwaysAllow', 'Webhook'].includes(c.authorization.mode) &&
    `authorization.mode ${quoted(c.authorization.mode)} must be one of: "AlwaysAllow" or "Webhook"`,
  ...c.tlsCipherSuites.map(
    (name) =>
      openSslCipher(name) === undefined &&
      `tlsCipherSuites (--tls-cipher-suites): Cipher suite ${name} not supported or doesn't exist`,
  ),
  c.enableSystemLogQuery && !c.enableSystemLogHandler && 'enableSystemLogHandler is required for enableSystemLogQuery',
  tracingProblem(c.tracing),
  c.containerRuntimeEndpoint === '' && 'the containerRuntimeEndpoint was not specified or empty',
];

function tracingProblem({ endpoint, samplingRatePerMillion }: KubeletConfigurationV1Beta1['tracing']): string | false {
  try {
    tracingSettings(endpoint || undefined, samplingRatePerMillion);
    return false;
  } catch (error) {
    return `tracing.${errorMessage(error)}`;
  }
}

const images: Check = (c) => [
  !between(c.imageGCHighThresholdPercent, 0, 100) &&
    `imageGCHighThresholdPercent (--image-gc-high-threshold) ${c.imageGCHighThresholdPercent} must be between 0 and 100, inclusive`,
  !between(c.imageGCLowThresholdPercent, 0, 100) &&
    `imageGCLowThresholdPercent (--image-gc-low-threshold) ${c.imageGCLowThresholdPercent} must be between 0 and 100, inclusive`,
  c.imageGCLowThresholdPercent >= c.imageGCHighThresholdPercent &&
    `imageGCLowThresholdPercent (--image-gc-low-threshold) ${c.imageGCLowThresholdPercent} must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) ${c.imageGCHighThresholdPercent}`,
  ms(c.imageMaximumGCAge) !== 0 &&
    ms(c.imageMaximumGCAge) <= ms(c.imageMinimumGCAge) &&
    `imageMaximumGCAge ${c.imageMaximumGCAge} must be greater than imageMinimumGCAge ${c.imageMinimumGCAge}`,
  negative('registry-burst', 'registryBurst', c.registryBurst),
  negative('registry-qps', 'registryPullQPS', c.registryPullQPS),
  c.maxParallelImagePulls < 1 && `maxParallelImagePulls ${c.maxParallelImagePulls} must be a positive number`,
  !gateEnabled(c.featureGates, 'KubeletEnsureSecretPulledImages') &&
    (c.imagePullCredentialsVerificationPolicy !== 'NeverVerifyPreloadedImages' ||
      c.preloadedImagesVerificationAllowlist.length > 0) &&
    '`imagePullCredentialsVerificationPolicy` and `preloadedImagesVerificationAllowlist` must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled',
  c.preloadedImagesVerificationAllowlist.length > 0 &&
    c.imagePullCredentialsVerificationPolicy !== 'NeverVerifyAllowlistedImages' &&
    'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVerificationPolicy` is not "NeverVerifyAllowlistedImages"',
  ...c.preloadedImagesVerificationAllowlist.map((pattern) => {
    const complaint = allowlistComplaint(pattern);
    return complaint !== undefined && `preloadedImagesVerificationAllowlist: ${complaint}`;
  }),
  c.containerLogMaxFiles <= 1 && 'containerLogMaxFiles (--container-log-max-files) must be greater than 1',
  c.containerLogMaxWorkers < 1 && 'containerLogMaxWorkers must be greater than or equal to 1',
  ms(c.containerLogMonitorInterval) < 3000 &&
    'containerLogMonitorInterval must be a positive time duration greater than or equal to 3s',
  tryParseQuantity(c.containerLogMaxSize) === undefined &&
    `containerLogMaxSize ${quoted(c.containerLogMaxSize)} is not a quantity`,
];

const node: Check = (c) => [
  negative('max-pods', 'maxPods', c.maxPods),
  negative('pods-per-core', 'podsPerCore', c.podsPerCore),
  c.nodeLeaseDurationSeconds <= 0 && 'nodeLeaseDurationSeconds must be greater than 0',
  c.nodeStatusMaxImages < -1 &&
    `nodeStatusMaxImages (--node-status-max-images) must be -1 or greater, got ${c.nodeStatusMaxImages}`,
  !between(ms(c.crashLoopBackOff.maxContainerRestartPeriod), 1000, 300_000) &&
    `CrashLoopBackOff.MaxContainerRestartPeriod (got: ${c.crashLoopBackOff.maxContainerRestartPeriod}) must be set between 1s and 300s`,
  ...c.registerWithTaints.map(
    ({ key, effect }) =>
      (key === '' || !['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect)) &&
      `registerWithTaints: invalid taint ${quoted({ key, effect })}`,
  ),
];

const ENFORCEABLE = [
  'none',
  'pods',
  'system-reserved',
  'system-reserved-compressible',
  'kube-reserved',
  'kube-reserved-compressible',
];

const resources: Check = (c) => {
  const enforced = c.enforceNodeAllocatable;
  const wants = (kind: 'system' | 'kube', cgroup: string): string | false =>
    enforced.some((option) => option.startsWith(`${kind}-reserved`)) &&
    cgroup === '' &&
    `${kind}ReservedCgroup (--${kind}-reserved-cgroup) must be specified when "${kind}-reserved" or "${kind}-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)`;
  return [
    !between(ms(c.cpuCFSQuotaPeriod), 1, 1000) &&
      `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) ${c.cpuCFSQuotaPeriod} must be between 1ms and 1sec, inclusive`,
    ms(c.cpuCFSQuotaPeriod) !== 100 &&
      !gateEnabled(c.featureGates, 'CustomCPUCFSQuotaPeriod') &&
      `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) ${c.cpuCFSQuotaPeriod} requires feature gate CustomCPUCFSQuotaPeriod`,
    !c.cgroupsPerQOS &&
      enforced.some((option) => option !== 'none') &&
      'enforceNodeAllocatable (--enforce-node-allocatable) is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true',
    enforced.includes('none') &&
      enforced.length > 1 &&
      'enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when "none" is specified',
    ...enforced.map(
      (option) =>
        !ENFORCEABLE.includes(option) &&
        `option ${quoted(option)} specified for enforceNodeAllocatable (--enforce-node-allocatable). Valid options are ${ENFORCEABLE.map((known) => quoted(known)).join(', ')}`,
    ),
    wants('system', c.systemReservedCgroup),
    wants('kube', c.kubeReservedCgroup),
    Object.keys(c.qosReserved).length > 0 &&
      !gateEnabled(c.featureGates, 'QOSReserved') &&
      `qosReserved (--qos-reserved) ${quoted(c.qosReserved)} requires feature gate QOSReserved`,
    ...Object.entries(c.qosReserved).flatMap(([resource, share]) => [
      resource !== 'memory' &&
        `qosReserved (--qos-reserved): unsupported resource ${quoted(resource)}: only memory can be reserved`,
      !(/^\d{1,3}%$/.test(share) && Number.parseInt(share, 10) <= 100) &&
        `qosReserved (--qos-reserved): ${quoted(share)} is no percentage from 0% to 100%`,
    ]),
    !['cgroupfs', 'systemd'].includes(c.cgroupDriver) &&
      `cgroupDriver (--cgroup-driver) ${quoted(c.cgroupDriver)} is not known: it must be cgroupfs or systemd`,
    c.systemCgroups !== '' &&
      c.cgroupRoot === '' &&
      'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified',
    ...(['systemReserved', 'kubeReserved'] as const).flatMap((name) => reservation(name, c[name])),
    !between(c.memoryThrottlingFactor, 0, 1) &&
      `memoryThrottlingFactor ${c.memoryThrottlingFactor} must be greater than 0 and less than or equal to 1.0`,
  ];
};

const shutdown: Check = (c) => {
  const total = ms(c.shutdownGracePeriod);
  const critical = ms(c.shutdownGracePeriodCriticalPods);
  const byPriority = c.shutdownGracePeriodByPodPriority;
  return [
    !gateEnabled(c.featureGates, 'GracefulNodeShutdown') &&
      (total > 0 || critical > 0) &&
      'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
    !gateEnabled(c.featureGates, 'GracefulNodeShutdownBasedOnPodPriority') &&
      byPriority.length > 0 &&
      'specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
    byPriority.length > 0 &&
      (total > 0 || critical > 0) &&
      'cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod',
    critical > total &&
      `shutdownGracePeriodCriticalPods ${quoted(c.shutdownGracePeriodCriticalPods)} must be <= shutdownGracePeriod ${quoted(c.shutdownGracePeriod)}`,
    total < 0 || (total > 0 && total < 1000)
      ? `shutdownGracePeriod ${quoted(c.shutdownGracePeriod)} must be either zero or otherwise >= 1 sec`
      : false,
    critical < 0 || (critical > 0 && critical < 1000)
      ? `shutdownGracePeriodCriticalPods ${quoted(c.shutdownGracePeriodCriticalPods)} must be either zero or otherwise >= 1 sec`
      : false,
  ];
};

const CPU_OPTIONS = ['full-pcpus-only', 'distribute-cpus-across-numa', 'strict-cpu-reservation'];

const managers: Check = (c) => {
  const options = Object.entries(c.cpuManagerPolicyOptions);
  const isStatic = c.cpuManagerPolicy === 'static';
  return [
    parseCpuSet(c.reservedSystemCPUs) === undefined &&
      `unable to parse reservedSystemCPUs (--reserved-cpus) ${quoted(c.reservedSystemCPUs)}`,
    c.reservedSystemCPUs !== '' &&
      (c.systemReservedCgroup !== '' || c.kubeReservedCgroup !== '') &&
      "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
    (c.userNamespaces.idsPerPod < 65_536 || c.userNamespaces.idsPerPod % 65_536 !== 0) &&
      `userNamespaces.idsPerPod ${c.userNamespaces.idsPerPod} must be a multiple of 65536`,
    isStatic &&
      !(ms(c.cpuManagerReconcilePeriod) > 0) &&
      `cpuManagerReconcilePeriod (--cpu-manager-reconcile-period) ${c.cpuManagerReconcilePeriod} must be greater than 0`,
    options.length > 0 && !isStatic && 'cpuManagerPolicyOptions need the cpuManagerPolicy "static"',
    ...options.flatMap(([name, value]) => [
      !CPU_OPTIONS.includes(name) && `unsupported cpumanager option: ${quoted(name)} (${quoted(value)})`,
      !['true', 'false'].includes(value) && `bad value for option ${quoted(name)}: ${quoted(value)}`,
    ]),
    ...Object.entries(c.topologyManagerPolicyOptions).map(([name, value]) => topologyOption(name, value)),
    ...c.reservedMemory.flatMap(({ numaNode, limits }, at) => [
      c.reservedMemory.findIndex((other) => other.numaNode === numaNode) !== at &&
        `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource`,
      ...Object.entries(limits).map(
        ([type, amount]) =>
          ((type !== 'memory' && !type.startsWith('hugepages-')) || tryParseQuantity(amount) === undefined) &&
          `the limit type ${quoted(type)} for NUMA node ${numaNode} is not allowed or its value ${quoted(amount)} is no quantity`,
      ),
    ]),
  ];
};

function topologyOption(name: string, value: string): string | false {
  if (name === 'prefer-closest-numa-nodes')
    return !['true', 'false'].includes(value) && `bad value for option ${quoted(name)}: ${quoted(value)}`;
  if (name !== 'max-allowable-numa-nodes')
    return `unsupported topologymanager option: ${quoted(name)} (${quoted(value)})`;
  if (!/^\d+$/.test(value)) return `unable to convert policy option to integer ${quoted(name)}: ${quoted(value)}`;
  return Number(value) < 8 && `the minimum value of ${quoted(name)} should not be less than 8`;
}

function reservation(name: string, amounts: Readonly<Record<string, string>>): (string | false)[] {
  return Object.entries(amounts).flatMap(([resource, amount]) => {
    const known = ['cpu', 'memory', 'ephemeral-storage', 'pid'].includes(resource);
    const parsed = tryParseQuantity(amount);
    return [
      !known && `${name}: cannot reserve ${quoted(resource)} resource`,
      (parsed === undefined || parsed.nanos < 0n) &&
        `${name}: resource quantity for ${quoted(resource)} cannot be ${quoted(amount)}`,
    ];
  });
}

/** Every error, in upstream's words without the prefix `invalid configuration: `. Empty: the configuration is valid. */
export function validateConfiguration(config: KubeletConfigurationV1Beta1): string[] {
  const checks: readonly Check[] = [server, images, node, resources, shutdown, managers];
  return [
    ...complaintsAboutGates(config.featureGates),
    ...checks.flatMap((check) => check(config)).filter((complaint) => complaint !== false),
    ...evictionComplaints(config),
    ...refusals(config),
  ];
}
