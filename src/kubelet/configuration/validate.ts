/**
 * Validates a complete configuration. Upstream: ValidateKubeletConfiguration, with its messages; further refusals are
 * Keelson's.
 */
import { openSslCipher } from '../../component-helpers/tls-names.ts';
import { tryParseQuantity } from '../../api/quantity.ts';
import { allowlistComplaint } from '../images/pull-verification.ts';
import { tracingSettings } from '../../component-helpers/tracing/tracing-configuration.ts';
import { errorMessage } from '../../base/errors.ts';
import { complaintsAboutGates, gateEnabled } from './feature-gates.ts';
import type { KubeletConfigurationV1Beta1 } from './fields.ts';
import { refusals } from './refusals.ts';
import { evictionComplaints } from './validate-eviction.ts';
import type { Check } from './configuration-check.ts';
import { between, negative, quoted, ms } from './configuration-check.ts';
import { managers, resources } from './validate-resources.ts';

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
