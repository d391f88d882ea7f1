/**
 * The instance: every name, socket, range and folder of one cluster on one machine, derived from its data directory, so
 * that several clusters never meet. Pure; choosing ranges by looking at the machine is `chooseRanges` in `preflight.ts`.
 */

export interface InstanceOptions {
  /** Absolute path. */
  readonly dataDir: string;
  readonly nodeName: string;
  /** The pod ranges: one, or one of each family separated by a comma, the cluster's first family first. */
  readonly clusterCidr: string;
  /** The service ranges, of the same families. */
  readonly serviceCidr: string;
  readonly clusterDomain: string;
  readonly httpsPort: number;
  /** `none`: the user brings a CNI plugin, which keeps its configuration in the usual place. Default: ours. */
  readonly cni?: 'keelson' | 'none';
  /** `none`: the DNS address is for a Service of the user's own, such as CoreDNS'. Default: ours answers there. */
  readonly dns?: 'keelson' | 'none';
}

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
  readonly nftTable: string;
  /** Packet mark of this instance's service rules: one bit range apart from those of others. */
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
    nftTable: `keelson-${hash}`,
    // The proxy uses the upper 16 bits.
    masqueradeMark: 0x4000_0000 | ((Number.parseInt(hash.slice(0, 4), 16) & 0x3fff) << 16),
  };
}

/** The instance's hash alone, for commands that need no more. */
export function instanceHash(dataDir: string, sha256Hex: (text: string) => string): string {
  return sha256Hex(`keelson instance ${dataDir}`).slice(0, 6);
}
