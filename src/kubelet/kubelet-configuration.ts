/** The kubelet's settings: a typed part of upstream's KubeletConfiguration (v1beta1) and of its flags, with upstream's defaults. */
import type { Taint } from '../api/gen/core-v1.ts';
import type { TracingSettings } from '../component-helpers/tracing/tracing-configuration.ts';
import type { PullVerificationConfig } from './images/pull-verification.ts';
import type { TopologyManagerConfig } from './topology-manager/topology-manager.ts';

/** Settings. Durations are milliseconds. */
export interface KubeletConfiguration {
  readonly nodeName: string;
  /** Labels the node registers with besides the well-known ones. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly registerNode: boolean;
  readonly registerWithTaints: readonly Taint[];
  readonly registerSchedulable: boolean;
  /** Addresses of the node; found from its interfaces when empty. */
  readonly nodeIps: readonly string[];
  readonly providerId: string;
  /** A cloud's own controller sees to the node's addresses, provider id and zone. Upstream: --cloud-provider=external. */
  readonly externalCloud: boolean;
  /** Where pods' directories live. */
  readonly rootDirectory: string;
  /** Where directories of local-path volumes live; empty: none are kept. */
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
  /** Hard eviction thresholds: they reduce what is allocatable. */
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
  /** Most pods per CPU; 0: only `maxPods` counts. */
  readonly podsPerCore: number;
  readonly resolvConf: string;
  /** Where spans go. Undefined: there are none. */
  readonly tracing: TracingSettings | undefined;
  /** Directory of containers' logs. */
  readonly podLogsDir: string;
  readonly seccompDefault: boolean;
  readonly crashLoopBackOff: { readonly initialMs: number; readonly maxMs: number };
  readonly cgroups: CgroupSettings;
  readonly eviction: EvictionSettings;
  /** No limit of pulls per second where `pullsPerSecond` is 0. */
  readonly images: {
    readonly maxParallelPulls: number;
    readonly pullsPerSecond: number;
    readonly pullBurst: number;
    /** Which images that are there already a pod must prove its right to. Absent: none. */
    readonly verification?: Pick<PullVerificationConfig, 'policy' | 'allowlist'>;
  };
  /** Chains of iptables that others rely on are kept. */
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
  /** How old the measures of volumes may be; negative: they are not measured. */
  readonly volumeStatsPeriodMs: number;
  /** Ids in the user namespace of a pod that has one of its own. */
  readonly userNamespaceIdsPerPod: number;
  readonly cpuManager: {
    readonly policy: 'none' | 'static';
    /** Processors no container gets alone, as the kernel writes lists; empty: as many as are reserved. */
    readonly reservedCpus: string;
    readonly fullPcpusOnly: boolean;
    readonly distributeAcrossNuma: boolean;
    readonly strictReservation: boolean;
    /** Containers with processors of their own are held to their limit besides. Upstream's gate, negated. */
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
  /** Containers' statuses have the health of their devices. Upstream's gate ResourceHealthStatus. */
  readonly resourceHealthStatus: boolean;
  /** Features the node declares, sorted; undefined: it declares none and takes any pod. Upstream: gate NodeDeclaredFeatures. */
  readonly declaredFeatures: readonly string[] | undefined;
  /** Containers' states may be written to files. Upstream's gate ContainerCheckpoint. */
  readonly checkpoints: boolean;
  readonly volumes: {
    /** Volumes may be cloned by git. Upstream's gate GitRepoVolumeDriver. */
    readonly gitRepo: boolean;
    /** Directory of flexVolume drivers. */
    readonly pluginDir: string;
    /** No controller attaches volumes to this node. */
    readonly attachesItself: boolean;
  };
  /** Sources whose pods may use the host's namespaces; `*` is all. Upstream's early --host-*-sources. */
  readonly allowedHostNamespaceSources: Readonly<Record<'network' | 'pid' | 'ipc', readonly string[]>>;
  /** False: there is no API server; pods come from files and URLs alone. */
  readonly hasApiServer: boolean;
  /** What /configz shows: the configuration file's form. */
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
  /** Share of the memory that pods of better classes ask for, kept from the classes below. */
  readonly qosReservedMemoryPercent: number;
  readonly singleProcessOomKill: boolean;
  readonly swapBehavior: 'NoSwap' | 'LimitedSwap';
  /** memory.high by this factor where given; memory.min and memory.low where tiered. Version 2 only. */
  readonly memoryQos: { readonly throttlingFactor: number | undefined; readonly tieredReservation: boolean };
}

/** When pods are evicted, besides the hard thresholds. Amounts are quantities or percentages. */
export interface EvictionSettings {
  readonly soft: Readonly<Record<string, string>>;
  readonly softGracePeriodMs: Readonly<Record<string, number>>;
  readonly minimumReclaim: Readonly<Record<string, string>>;
  readonly pressureTransitionPeriodMs: number;
  /** Longest grace for pods of a soft eviction. */
  readonly maxPodGracePeriodSeconds: number;
  /** Limits of ephemeral storage are watched. */
  readonly localStorageCapacityIsolation: boolean;
}
