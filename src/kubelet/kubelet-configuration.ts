/** The kubelet's settings: a typed part of upstream's KubeletConfiguration (v1beta1) and of its flags, with upstream's defaults. */
import type { Taint } from '../api/gen/core-v1.ts';

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
  /** Where pods' directories live. */
  readonly rootDirectory: string;
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
}

/** Upstream's defaults. */
export const KUBELET_DEFAULTS: Omit<KubeletConfiguration, 'nodeName' | 'rootDirectory'> = {
  nodeLabels: {},
  registerNode: true,
  registerWithTaints: [],
  registerSchedulable: true,
  nodeIps: [],
  providerId: '',
  staticPodPath: '',
  fileCheckFrequencyMs: 20_000,
  staticPodUrl: '',
  staticPodUrlHeaders: {},
  httpCheckFrequencyMs: 20_000,
  syncFrequencyMs: 60_000,
  podBackOffPeriodMs: 10_000,
  nodeStatusUpdateFrequencyMs: 10_000,
  nodeStatusReportFrequencyMs: 300_000,
  nodeLeaseDurationSeconds: 40,
  nodeStatusMaxImages: 50,
  maxPods: 110,
  podCidr: '',
  port: 10_250,
  clusterDns: [],
  clusterDomain: 'cluster.local',
  systemReserved: {},
  kubeReserved: {},
  evictionHard: {
    'memory.available': '100Mi',
    'nodefs.available': '10%',
    'nodefs.inodesFree': '5%',
    'imagefs.available': '15%',
    'imagefs.inodesFree': '5%',
  },
  allowedUnsafeSysctls: [],
  plegHealthyRelistPeriodMs: 60_000,
  plegRelistPeriodMs: 1_000,
  maxPerPodContainerCount: 1,
  maxContainerCount: -1,
  minimumGcAgeMs: 0,
  containerGcPeriodMs: 60_000,
};

/** The configuration with defaults for what is not given. */
export function kubeletConfiguration(
  given: Pick<KubeletConfiguration, 'nodeName' | 'rootDirectory'> & Partial<KubeletConfiguration>,
): KubeletConfiguration {
  return { ...KUBELET_DEFAULTS, ...given };
}
