/** What a user decides about a cluster, checked. Ranges left out are chosen to fit the machine. */
export interface ClusterOptions {
  readonly dataDir: string;
  readonly httpsPort: number;
  readonly store: 'sqlite' | 'memory';
  readonly clusterCidr?: string;
  readonly serviceCidr?: string;
  readonly clusterDomain: string;
  readonly nodeName: string;
  readonly containerRuntimeEndpoint?: string;
  /** As `--runtime-config`. */
  readonly runtimeConfig: string;
}
