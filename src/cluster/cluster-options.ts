/** What a user decides about a cluster, checked. Ranges left out are chosen to fit the machine. */
import type { ApiServerOptions } from '../apiserver/options/api-server-options.ts';
import type { StoreChoice } from './store-options.ts';

/** The options of one cluster. */
export interface ClusterOptions {
  readonly dataDir: string;
  readonly httpsPort: number;
  readonly store: StoreChoice;
  readonly clusterCidr?: string;
  readonly serviceCidr?: string;
  readonly clusterDomain: string;
  readonly nodeName: string;
  readonly containerRuntimeEndpoint?: string;
  /** As `--runtime-config`. */
  readonly runtimeConfig: string;
  /** What the API server admits, believes, allows and records. Default: as upstream. */
  readonly apiServer?: ApiServerOptions;
  /** Address under which pods and other machines reach the API server. Default: the node's. */
  readonly advertiseAddress?: string;
  /** Address of this machine's node. Default: the first of a real device. */
  readonly nodeIp?: string;
  /** More names and addresses for the API server's certificate. */
  readonly tlsNames?: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
  /** A control plane without a node on this machine. */
  readonly disableAgent?: boolean;
}
