/** The kubelet's settings from its configuration file: durations in milliseconds, sizes in bytes. Pure. */
import { parseDurationMs } from '../../api/duration.ts';
import { quantityValue } from '../../api/quantity.ts';
import { declaredFeatures } from '../../component-helpers/node-declared-features.ts';
import { tracingSettings, type TracingSettings } from '../../component-helpers/tracing/tracing-configuration.ts';
import { parseCpuSet } from '../cpu-manager/cpu-set.ts';
import type { VerificationPolicy } from '../images/pull-verification.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { KUBELET_DEFAULTS } from '../kubelet-defaults.ts';
import { type ShutdownGroup, shutdownGroups } from '../node-shutdown/node-shutdown-manager.ts';
import { gateEnabled } from './feature-gates.ts';
import type { KubeletConfigurationV1Beta1 } from './fields.ts';

/** Settings of a node that exist only as flags. */
export interface NodeIdentity {
  readonly nodeName: string;
  readonly rootDirectory: string;
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly nodeIps?: readonly string[];
  readonly registerSchedulable?: boolean;
  readonly externalCloud?: boolean;
  readonly allowedHostNamespaceSources?: KubeletConfiguration['allowedHostNamespaceSources'];
}

const ms = (text: string): number => parseDurationMs(text) ?? 0;

/** Initial and maximum restart back-off with the gate for a shorter decay, unless the configuration sets others. */
const SHORT_DECAY = { initialMs: 1_000, maxMs: 60_000 };

function crashLoopBackOff(c: KubeletConfigurationV1Beta1): KubeletConfiguration['crashLoopBackOff'] {
  const maxMs = ms(c.crashLoopBackOff.maxContainerRestartPeriod);
  if (!gateEnabled(c.featureGates, 'ReduceDefaultCrashLoopBackOffDecay'))
    return { initialMs: Math.min(10_000, maxMs), maxMs };
  return { ...SHORT_DECAY, maxMs: maxMs === 300_000 ? SHORT_DECAY.maxMs : maxMs };
}

function sources(c: KubeletConfigurationV1Beta1): Partial<KubeletConfiguration> {
  return {
    staticPodPath: c.staticPodPath,
    fileCheckFrequencyMs: ms(c.fileCheckFrequency),
    staticPodUrl: c.staticPodURL,
    staticPodUrlHeaders: Object.fromEntries(
      Object.entries(c.staticPodURLHeader).map(([name, values]) => [name, values.join(', ')]),
    ),
    httpCheckFrequencyMs: ms(c.httpCheckFrequency),
    syncFrequencyMs: ms(c.syncFrequency),
  };
}

/** The kubelet's own sampling rate starts traces: without a rate there are none. */
function tracingOf({ tracing }: KubeletConfigurationV1Beta1): TracingSettings | undefined {
  const { endpoint, samplingRatePerMillion } = tracing;
  return samplingRatePerMillion === 0 ? undefined : tracingSettings(endpoint || undefined, samplingRatePerMillion);
}

function node(c: KubeletConfigurationV1Beta1): Partial<KubeletConfiguration> {
  return {
    registerNode: c.registerNode,
    registerWithTaints: c.registerWithTaints.map(({ key, value, effect }) => ({
      key,
      effect: effect as 'NoSchedule',
      value: value === '' ? undefined : value,
    })),
    providerId: c.providerID,
    nodeStatusUpdateFrequencyMs: ms(c.nodeStatusUpdateFrequency),
    nodeStatusReportFrequencyMs: ms(c.nodeStatusReportFrequency),
    nodeLeaseDurationSeconds: c.nodeLeaseDurationSeconds,
    nodeStatusMaxImages: c.nodeStatusMaxImages,
    maxPods: c.maxPods,
    podsPerCore: c.podsPerCore,
    podCidr: c.podCIDR,
    port: c.port,
    clusterDns: c.clusterDNS,
    tracing: tracingOf(c),
    clusterDomain: c.clusterDomain,
    resolvConf: c.resolvConf,
    podLogsDir: c.podLogsDir,
    seccompDefault: c.seccompDefault,
    allowedUnsafeSysctls: c.allowedUnsafeSysctls,
    crashLoopBackOff: crashLoopBackOff(c),
    resourceHealthStatus: gateEnabled(c.featureGates, 'ResourceHealthStatus'),
    checkpoints: gateEnabled(c.featureGates, 'ContainerCheckpoint'),
    declaredFeatures: gateEnabled(c.featureGates, 'NodeDeclaredFeatures')
      ? declaredFeatures((feature) => gateEnabled(c.featureGates, feature))
      : undefined,
    volumes: {
      gitRepo: gateEnabled(c.featureGates, 'GitRepoVolumeDriver'),
      pluginDir: c.volumePluginDir,
      attachesItself: !c.enableControllerAttachDetach,
    },
  };
}

/** Reserved CPUs by name replace the reserved amount. */
function reservations(c: KubeletConfigurationV1Beta1): Pick<KubeletConfiguration, 'systemReserved' | 'kubeReserved'> {
  const count = parseCpuSet(c.reservedSystemCPUs)?.length ?? 0;
  if (count === 0) return { systemReserved: c.systemReserved, kubeReserved: c.kubeReserved };
  const { cpu: _cpu, ...kubeReserved } = c.kubeReserved;
  return { systemReserved: { ...c.systemReserved, cpu: String(count) }, kubeReserved };
}

function managers(c: KubeletConfigurationV1Beta1): Partial<KubeletConfiguration> {
  const options = c.cpuManagerPolicyOptions;
  return {
    cpuManager: {
      policy: c.cpuManagerPolicy === 'static' ? 'static' : 'none',
      reservedCpus: c.reservedSystemCPUs,
      fullPcpusOnly: options['full-pcpus-only'] === 'true',
      distributeAcrossNuma: options['distribute-cpus-across-numa'] === 'true',
      strictReservation: options['strict-cpu-reservation'] === 'true',
      quotaOnExclusiveCpus: !gateEnabled(c.featureGates, 'DisableCPUQuotaWithExclusiveCPUs'),
      reconcilePeriodMs: ms(c.cpuManagerReconcilePeriod),
    },
    memoryManager: { policy: c.memoryManagerPolicy === 'Static' ? 'Static' : 'None', reservedMemory: c.reservedMemory },
    topologyManager: {
      policy: c.topologyManagerPolicy as KubeletConfiguration['topologyManager']['policy'],
      scope: c.topologyManagerScope === 'pod' ? 'pod' : 'container',
      preferClosestNumaNodes: c.topologyManagerPolicyOptions['prefer-closest-numa-nodes'] === 'true',
      maxAllowableNumaNodes: Number(c.topologyManagerPolicyOptions['max-allowable-numa-nodes'] ?? 8),
    },
  };
}

function resources(c: KubeletConfigurationV1Beta1): Partial<KubeletConfiguration> {
  const memoryQos = gateEnabled(c.featureGates, 'MemoryQoS');
  return {
    ...reservations(c),
    ...managers(c),
    cgroups: {
      root: c.cgroupRoot === '' ? '/' : c.cgroupRoot,
      perQos: c.cgroupsPerQOS,
      enforceNodeAllocatable: c.enforceNodeAllocatable,
      systemReservedCgroup: c.systemReservedCgroup,
      kubeReservedCgroup: c.kubeReservedCgroup,
      cpuCfsQuota: c.cpuCFSQuota,
      cpuCfsQuotaPeriodUs: ms(c.cpuCFSQuotaPeriod) * 1000,
      podPidsLimit: c.podPidsLimit,
      qosReservedMemoryPercent: Number.parseInt(c.qosReserved['memory'] ?? '0', 10),
      singleProcessOomKill: c.singleProcessOOMKill,
      swapBehavior: c.memorySwap.swapBehavior === 'LimitedSwap' ? 'LimitedSwap' : 'NoSwap',
      memoryQos: {
        throttlingFactor: memoryQos ? c.memoryThrottlingFactor : undefined,
        tieredReservation: memoryQos && c.memoryReservationPolicy === 'TieredReservation',
      },
    },
    userNamespaceIdsPerPod: c.userNamespaces.idsPerPod,
    evictionHard: c.evictionHard,
    eviction: {
      soft: c.evictionSoft,
      softGracePeriodMs: Object.fromEntries(
        Object.entries(c.evictionSoftGracePeriod).map(([signal, period]) => [signal, ms(period)]),
      ),
      minimumReclaim: c.evictionMinimumReclaim,
      pressureTransitionPeriodMs: ms(c.evictionPressureTransitionPeriod),
      maxPodGracePeriodSeconds: c.evictionMaxPodGracePeriod,
      localStorageCapacityIsolation: c.localStorageCapacityIsolation,
    },
  };
}

function upkeep(c: KubeletConfigurationV1Beta1): Partial<KubeletConfiguration> {
  return {
    images: {
      maxParallelPulls: c.serializeImagePulls ? 1 : c.maxParallelImagePulls,
      pullsPerSecond: c.registryPullQPS,
      pullBurst: c.registryBurst,
      verification: gateEnabled(c.featureGates, 'KubeletEnsureSecretPulledImages')
        ? {
            policy: c.imagePullCredentialsVerificationPolicy as VerificationPolicy,
            allowlist: c.preloadedImagesVerificationAllowlist,
          }
        : undefined,
    },
    iptablesUtilChains: c.makeIPTablesUtilChains,
    imageGc: {
      highThresholdPercent: c.imageGCHighThresholdPercent,
      lowThresholdPercent: c.imageGCLowThresholdPercent,
      minAgeMs: ms(c.imageMinimumGCAge),
      maxAgeMs: ms(c.imageMaximumGCAge),
    },
    volumeStatsPeriodMs: ms(c.volumeStatsAggPeriod),
    containerLogs: {
      maxSizeBytes: quantityValue(c.containerLogMaxSize),
      maxFiles: c.containerLogMaxFiles,
      periodMs: ms(c.containerLogMonitorInterval),
      maxWorkers: c.containerLogMaxWorkers,
    },
  };
}

/** The grace periods of pods by priority when the machine shuts down; empty: the shutdown is not delayed. */
export function shutdownGroupsOf(c: KubeletConfigurationV1Beta1): readonly ShutdownGroup[] {
  const groups = c.shutdownGracePeriodByPodPriority.map(({ priority, shutdownGracePeriodSeconds }) => ({
    priority,
    gracePeriodSeconds: shutdownGracePeriodSeconds,
  }));
  if (groups.length > 0) return groups;
  return shutdownGroups({
    totalSeconds: ms(c.shutdownGracePeriod) / 1000,
    criticalSeconds: ms(c.shutdownGracePeriodCriticalPods) / 1000,
  });
}

export function settingsOf(c: KubeletConfigurationV1Beta1, identity: NodeIdentity): KubeletConfiguration {
  return {
    ...KUBELET_DEFAULTS,
    ...sources(c),
    ...node(c),
    ...resources(c),
    ...upkeep(c),
    ...identity,
    published: () => c,
  };
}
