/** The validated options of a cluster. Ranges that are not set are chosen to fit the machine. */
import type { ApiServerOptions } from '../apiserver/options/api-server-options.ts';
import type { ControllerSettings } from '../controllers/controller.ts';
import type { HistoryLimits } from '../storage/history-log.ts';
import type { HelmOptions } from './helm/helm-options.ts';
import type { FlannelBackend } from './instance/instance.ts';
import type { JoinToken } from './join/join-token.ts';
import type { SnapshotOptions } from './snapshots/snapshot-options.ts';
import type { NodesOptions } from './nodes/nodes-options.ts';
import type { StoreChoice } from './store/store-options.ts';
import type { KubeletSettings } from './node/instance-kubelet.ts';

export interface ClusterOptions {
  readonly dataDir: string;
  /** Names cluster, user and context in kubeconfigs. */
  readonly name: string;
  /** Undefined: the port of the last start; at the first start 6443, or the next free one. */
  readonly httpsPort: number | undefined;
  readonly store: StoreChoice;
  /** At the first start: the server runs its own etcd. */
  readonly etcd?: OwnEtcdOptions;
  /** The EncryptionConfiguration of the store. */
  readonly encryptionConfigFile?: string;
  /** The limits of the history of objects beside the store; absent: no history. */
  readonly history?: HistoryLimits | undefined;
  /** Scheduled snapshots; absent: none. */
  readonly snapshots?: SnapshotOptions | undefined;
  /** A KubeSchedulerConfiguration for the cluster's scheduler. */
  readonly schedulerConfigFile?: string;
  readonly controllerManager?: ControllerSettings;
  readonly clusterCidr?: string;
  readonly serviceCidr?: string;
  readonly clusterDomain: string;
  readonly nodeName: string;
  readonly containerRuntimeEndpoint?: string;
  readonly kubelet?: KubeletSettings;
  /** As `--runtime-config`. */
  readonly runtimeConfig: string;
  /** Options of the API server. Default: as upstream. */
  readonly apiServer?: ApiServerOptions;
  /** Whether the browser console is served. Default true. */
  readonly console?: boolean;
  /** The address the API server listens on. Default: all IPv4 addresses. */
  readonly bindAddress?: string | undefined;
  /** The address at which pods and other machines reach the API server. Default: the bind address, or the node's. */
  readonly advertiseAddress?: string;
  /** The address of this machine's node. Default: the first of a real device. */
  readonly nodeIp?: string;
  /** Further names and addresses in the API server's certificate. */
  readonly tlsNames?: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
  /** `none`: the user installs a CNI plugin. */
  readonly cni?: 'keelson' | 'none';
  /** Absent: that of the last start, or of the cluster that is joined, or `vxlan`. */
  readonly flannelBackend?: FlannelBackend | undefined;
  /** `none`: the user installs cluster DNS. */
  readonly dns?: 'keelson' | 'none';
  /** Domains with their own name servers, each `domain=address[:port],…`. */
  readonly dnsStubDomains?: readonly string[];
  readonly proxyMode?: 'nftables' | 'iptables' | 'userspace';
  /** Addresses of node ports: ranges, or `primary`. Absent: all addresses. */
  readonly nodePortAddresses?: readonly string[];
  /** `none`: the user installs a load balancer. */
  readonly loadBalancer?: 'keelson' | 'none';
  /** `none`: there are neither a class `local-path` nor its provisioner. */
  readonly localPath?: 'keelson' | 'none';
  /** `none`: the user installs a metrics server. */
  readonly metrics?: 'keelson' | 'none';
  /** The ports of routes (Ingress, Gateway API) on this machine's addresses. Absent: Keelson serves no routes. */
  readonly gateway?: { readonly http: number; readonly https: number };
  /** The port of the registry on loopback. */
  readonly registryPort?: number | undefined;
  /** How HelmCharts are run. */
  readonly helm?: HelmOptions;
  /** Further nodes on this machine, in network namespaces. */
  readonly machineNodes?: NodesOptions | undefined;
  /** A control plane without a node on this machine. */
  readonly disableAgent?: boolean;
}

/** The server's own etcd. */
export interface OwnEtcdOptions {
  /** The cluster to join; absent: a new one. */
  readonly join?: { readonly servers: readonly string[]; readonly token: JoinToken };
  readonly clientPort: number;
  readonly peerPort: number;
}
