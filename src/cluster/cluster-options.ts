/** What a user decides about a cluster, checked. Ranges left out are chosen to fit the machine. */
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
}
