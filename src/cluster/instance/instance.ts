/**
 * The instance: all names, sockets, ranges and folders of a cluster on a machine, derived from its data directory, so
 * that several clusters do not conflict. Pure; `chooseRanges` in `preflight.ts` chooses ranges by the machine's
 * routes.
 */

export interface InstanceOptions {
  /** Absolute path. */
  readonly dataDir: string;
  readonly nodeName: string;
  /** The pod ranges: one, or one of each family separated by a comma, the cluster's primary family first. */
  readonly clusterCidr: string;
  /** The service ranges, of the same families. */
  readonly serviceCidr: string;
  readonly clusterDomain: string;
  readonly httpsPort: number;
  /** `none`: the user installs a CNI plugin, with its configuration in the usual place. Default: Keelson's. */
  readonly cni?: 'keelson' | 'none';
  /** `none`: the DNS address belongs to a Service of the user's, such as CoreDNS. Default: Keelson's DNS. */
  readonly dns?: 'keelson' | 'none';
  /** What carries packets between nodes. Default: `vxlan`, which is links and VXLAN. */
  readonly flannelBackend?: FlannelBackend | undefined;
}

/** The values of `--flannel-backend`. */
export const FLANNEL_BACKENDS = ['vxlan', 'wireguard-native'] as const;
export type FlannelBackend = (typeof FLANNEL_BACKENDS)[number];

/** All derived names and numbers. Device names are at most 15 characters long. */
export interface Instance extends InstanceOptions {
  /** Six hexadecimal characters that differ between the instances of a machine. */
  readonly hash: string;
  readonly runDir: string;
  readonly pkiDir: string;
  readonly logDir: string;
  readonly adminKubeconfig: string;
  readonly storeFile: string;
  readonly historyFile: string;
  readonly containerd: {
    readonly root: string;
    readonly state: string;
    readonly socket: string;
    readonly config: string;
    readonly log: string;
  };
  readonly cniConfig: { readonly confDir: string; readonly networkName: string; readonly ipamDir: string };
  readonly kubeletRoot: string;
  readonly podLogsRoot: string;
  /** The path of the instance's cgroup below each cgroup mount. */
  readonly cgroupRoot: string;
  readonly bridge: string;
  /** The device that carries the service range's route and the DNS address. */
  readonly serviceDevice: string;
  /** The VXLAN device, for nodes that are on no link of this machine. */
  readonly tunnelDevice: string;
  readonly wireguardDevice: string;
  readonly nftTable: string;
  /** The packet mark of this instance's service rules; instances use different bits. */
  readonly masqueradeMark: number;
}

/** The directory in which other CNI plugins write their configuration. Never removed. */
const FOREIGN_CNI_DIR = '/etc/cni/net.d';

/** Derives the instance. `sha256Hex` hashes the data directory's path. */
export function deriveInstance(options: InstanceOptions, sha256Hex: (text: string) => string): Instance {
  const hash = instanceHash(options.dataDir, sha256Hex);
  const { dataDir } = options;
  const runDir = `/run/keelson/${hash}`;
  return {
    ...options,
    hash,
    runDir,
    pkiDir: `${dataDir}/pki`,
    logDir: `${dataDir}/logs`,
    adminKubeconfig: `${dataDir}/admin.kubeconfig`,
    storeFile: `${dataDir}/state.db`,
    historyFile: `${dataDir}/history.db`,
    containerd: {
      root: `${dataDir}/containerd`,
      state: `${runDir}/containerd`,
      socket: `${runDir}/containerd.sock`,
      config: `${dataDir}/containerd.toml`,
      log: `${dataDir}/logs/containerd.log`,
    },
    cniConfig: {
      confDir: options.cni === 'none' ? FOREIGN_CNI_DIR : `${dataDir}/cni/net.d`,
      networkName: `keelson-${hash}`,
      ipamDir: `${dataDir}/cni/ipam`,
    },
    kubeletRoot: `${dataDir}/kubelet`,
    podLogsRoot: `${dataDir}/logs/pods`,
    cgroupRoot: `/keelson-${hash}`,
    bridge: `kl${hash}`,
    serviceDevice: `ks${hash}`,
    tunnelDevice: `kv${hash}`,
    wireguardDevice: `kw${hash}`,
    nftTable: `keelson-${hash}`,
    // The proxy uses the upper 16 bits.
    masqueradeMark: 0x4000_0000 | ((Number.parseInt(hash.slice(0, 4), 16) & 0x3fff) << 16),
  };
}

/** Only the instance's hash, for commands that need no more. */
export function instanceHash(dataDir: string, sha256Hex: (text: string) => string): string {
  return sha256Hex(`keelson instance ${dataDir}`).slice(0, 6);
}
