/** The kubelet's settings: a typed part of upstream's KubeletConfiguration (v1beta1) and of its flags, with upstream's defaults. */
import type { Taint } from '../api/gen/core-v1.ts';
import type { TracingSettings } from '../component-helpers/tracing/tracing-configuration.ts';
import type { PullVerificationConfig } from './images/pull-verification.ts';
import type { TopologyManagerConfig } from './topology-manager/topology-manager.ts';

/** Durations are milliseconds. */
export interface KubeletConfiguration {
  readonly nodeName: string;
  /** Further labels that the node registers with, besides the well-known ones. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly registerNode: boolean;
  readonly registerWithTaints: readonly Taint[];
  readonly registerSchedulable: boolean;
  /** Addresses of the node; found from its interfaces when empty. */
  readonly nodeIps: readonly string[];
  readonly providerId: string;
  /**
   * An external cloud provider sets the node's addresses, provider id and zone. Upstream: --cloud-provider=external.
   */
  readonly externalCloud: boolean;
  /** The directory of pods' directories. */
  readonly rootDirectory: string;
  /** The directory of local-path volumes; empty: the node has none. */
  readonly localPathRoot: string;
  /** A directory or file with manifests of static pods; empty: none. */
  readonly staticPodPath: string;
  readonly fileCheckFrequencyMs: number;
  readonly staticPodUrl: string;
  readonly staticPodUrlHeaders: Readonly<Record<string, string>>;
  readonly httpCheckFrequencyMs: number;
  readonly syncFrequencyMs: number;
  readonly podBackOffPeriodMs: number;
  readonly nodeStatusUpdateFrequencyMs: number;
  readonly nodeStatusReportFrequencyMs: number;
  readonly nodeLeaseDurationSeconds: number;
  readonly nodeStatusMaxImages: number;
  readonly maxPods: number;
  readonly podCidr: string;
  readonly port: number;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** Hard eviction thresholds, which reduce allocatable. */
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly allowedUnsafeSysctls: readonly string[];
  /** Relist period of the PLEG while the runtime's event stream works, and while it does not. */
  readonly plegHealthyRelistPeriodMs: number;
  readonly plegRelistPeriodMs: number;
  /** Dead containers kept per pod and container. */
  readonly maxPerPodContainerCount: number;
  readonly maxContainerCount: number;
  readonly minimumGcAgeMs: number;
  readonly containerGcPeriodMs: number;
  /** The most pods per CPU; 0: only `maxPods` counts. */
  readonly podsPerCore: number;
  readonly resolvConf: string;
  /** Where traces are sent. Undefined: nowhere. */
  readonly tracing: TracingSettings | undefined;
  /** Directory of containers' logs. */
  readonly podLogsDir: string;
  readonly seccompDefault: boolean;
  readonly crashLoopBackOff: { readonly initialMs: number; readonly maxMs: number };
  readonly cgroups: CgroupSettings;
  readonly eviction: EvictionSettings;
  /** `pullsPerSecond` 0: no limit. */
  readonly images: {
    readonly maxParallelPulls: number;
    readonly pullsPerSecond: number;
    readonly pullBurst: number;
    /** Which present images are used only by pods with a right to them. Absent: none are verified. */
    readonly verification?: Pick<PullVerificationConfig, 'policy' | 'allowlist'>;
  };
  /** Keeps the iptables chains that other programs rely on. */
  readonly iptablesUtilChains: boolean;
  readonly imageGc: {
    readonly highThresholdPercent: number;
    readonly lowThresholdPercent: number;
    readonly minAgeMs: number;
    readonly maxAgeMs: number;
  };
  readonly containerLogs: {
    readonly maxSizeBytes: number;
    readonly maxFiles: number;
    readonly periodMs: number;
    readonly maxWorkers: number;
  };
  /** How old the measured usage of volumes may be; negative: it is not measured. */
  readonly volumeStatsPeriodMs: number;
  /** The number of ids in the user namespace of a pod that has its own. */
  readonly userNamespaceIdsPerPod: number;
  readonly cpuManager: {
    readonly policy: 'none' | 'static';
    /** CPUs that no container gets exclusively, as a kernel list; empty: as many as are reserved. */
    readonly reservedCpus: string;
    readonly fullPcpusOnly: boolean;
    readonly distributeAcrossNuma: boolean;
    readonly strictReservation: boolean;
    /** Exclusive CPUs are limited by quota too. Upstream's gate, negated. */
    readonly quotaOnExclusiveCpus: boolean;
    readonly reconcilePeriodMs: number;
  };
  readonly memoryManager: {
    readonly policy: 'None' | 'Static';
    readonly reservedMemory: readonly {
      readonly numaNode: number;
      readonly limits: Readonly<Record<string, string>>;
    }[];
  };
  readonly topologyManager: TopologyManagerConfig;
  /** Container statuses include the health of devices. Upstream's gate ResourceHealthStatus. */
  readonly resourceHealthStatus: boolean;
  /**
   * Features the node declares, sorted; undefined: it declares none and does not check pods. Upstream: gate
   * NodeDeclaredFeatures.
   */
  readonly declaredFeatures: readonly string[] | undefined;
  /** Containers may be checkpointed. Upstream's gate ContainerCheckpoint. */
  readonly checkpoints: boolean;
  readonly volumes: {
    /** gitRepo volumes are supported. Upstream's gate GitRepoVolumeDriver. */
    readonly gitRepo: boolean;
    /** Directory of flexVolume drivers. */
    readonly pluginDir: string;
    /** The kubelet attaches volumes itself, as no controller does. */
    readonly attachesItself: boolean;
  };
  /** Sources whose pods may use the host's namespaces; `*` is all. Upstream's early --host-*-sources. */
  readonly allowedHostNamespaceSources: Readonly<Record<'network' | 'pid' | 'ipc', readonly string[]>>;
  /** False: there is no API server; pods come from files and URLs alone. */
  readonly hasApiServer: boolean;
  /** The answer of /configz, in the form of the configuration file. */
  readonly published?: () => object;
}

export interface CgroupSettings {
  readonly root: string;
  readonly perQos: boolean;
  readonly enforceNodeAllocatable: readonly string[];
  readonly systemReservedCgroup: string;
  readonly kubeReservedCgroup: string;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodUs: number;
  /** Below 1: no limit. */
  readonly podPidsLimit: number;
  /** Percentage of the memory requests of higher QoS classes that lower classes may not use. */
  readonly qosReservedMemoryPercent: number;
  readonly singleProcessOomKill: boolean;
  readonly swapBehavior: 'NoSwap' | 'LimitedSwap';
  /** The factor of memory.high where set; `tieredReservation`: memory.min and memory.low are set. Cgroups v2 only. */
  readonly memoryQos: { readonly throttlingFactor: number | undefined; readonly tieredReservation: boolean };
}

/** Eviction settings besides the hard thresholds. Amounts are quantities or percentages. */
export interface EvictionSettings {
  readonly soft: Readonly<Record<string, string>>;
  readonly softGracePeriodMs: Readonly<Record<string, number>>;
  readonly minimumReclaim: Readonly<Record<string, string>>;
  readonly pressureTransitionPeriodMs: number;
  /** The longest grace period of a pod in a soft eviction. */
  readonly maxPodGracePeriodSeconds: number;
  /** Limits of ephemeral storage are enforced. */
  readonly localStorageCapacityIsolation: boolean;
}
