/** What a user decides about a cluster, checked. Ranges left out are chosen to fit the machine. */
import type { ApiServerOptions } from '../apiserver/options/api-server-options.ts';
import type { ControllerSettings } from '../controllers/controller.ts';
import type { HistoryLimits } from '../storage/history-log.ts';
import type { HelmOptions } from './helm/helm-options.ts';
import type { JoinToken } from './join/join-token.ts';
import type { SnapshotOptions } from './snapshots/snapshot-options.ts';
import type { NodesOptions } from './nodes/nodes-options.ts';
import type { StoreChoice } from './store/store-options.ts';
import type { KubeletSettings } from './node/instance-kubelet.ts';

export interface ClusterOptions {
  readonly dataDir: string;
  /** Names cluster, user and context in kubeconfigs. */
  readonly name: string;
  /** Undefined: that of the last start, at the first one 6443 or the next free one. */
  readonly httpsPort: number | undefined;
  readonly store: StoreChoice;
  /** The state is in an etcd that this server runs itself: at the first start. */
  readonly etcd?: OwnEtcdOptions;
  /** An EncryptionConfiguration: what of the store is encrypted. */
  readonly encryptionConfigFile?: string;
  /** How much history of objects is kept beside the store; absent: none. */
  readonly history?: HistoryLimits | undefined;
  /** Snapshots by a schedule; absent: none. */
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
  /** What the API server admits, believes, allows and records. Default: as upstream. */
  readonly apiServer?: ApiServerOptions;
  /** Whether the console in the browser is served. Default true. */
  readonly console?: boolean;
  /** Where the API server listens. Default: on all IPv4 addresses. */
  readonly bindAddress?: string | undefined;
  /** Address under which pods and other machines reach the API server. Default: where it listens, or the node's. */
  readonly advertiseAddress?: string;
  /** Address of this machine's node. Default: the first of a real device. */
  readonly nodeIp?: string;
  /** More names and addresses for the API server's certificate. */
  readonly tlsNames?: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
  /** `none`: the user brings a CNI plugin. */
  readonly cni?: 'keelson' | 'none';
  /** `none`: the user brings cluster DNS. */
  readonly dns?: 'keelson' | 'none';
  /** Domains with name servers of their own, each `domain=address[:port],…`. */
  readonly dnsStubDomains?: readonly string[];
  readonly proxyMode?: 'nftables' | 'iptables' | 'userspace';
  /** Where node ports answer: ranges, or `primary`. Absent: on all addresses. */
  readonly nodePortAddresses?: readonly string[];
  /** The ports of routes (Ingress) on this machine's addresses. Absent: routes are not served by Keelson. */
  readonly gateway?: { readonly http: number; readonly https: number };
  /** Where a registry is served on loopback. */
  readonly registryPort?: number | undefined;
  /** How HelmCharts are run, once they are defined. */
  readonly helm?: HelmOptions;
  /** Further nodes on this machine, in namespaces of their own. */
  readonly machineNodes?: NodesOptions | undefined;
  /** A control plane without a node on this machine. */
  readonly disableAgent?: boolean;
}

/** An etcd of the server's own. */
export interface OwnEtcdOptions {
  /** The cluster to join; absent: a new one begins. */
  readonly join?: { readonly servers: readonly string[]; readonly token: JoinToken };
  readonly clientPort: number;
  readonly peerPort: number;
}
