/** What `keelson doctor` reads of a machine and of the cluster in a data directory, before anything is concluded. */
import type { MachineRoute } from '../instance/preflight.ts';
import type { NodeEntry } from '../nodes/nodes-file.ts';

export interface Machine {
  readonly isRoot: boolean;
  readonly dataDir: string;
  /** The process of the cluster; absent: it is stopped, or there is none. */
  readonly pid: number | undefined;
  /** Why the file of what was settled at the first start cannot be read; undefined: it can, or is not there. */
  readonly instanceError: string | undefined;
  /** What the cluster has settled; absent before the first start. */
  readonly settled: SettledFacts | undefined;
  readonly kernel: KernelFacts;
  readonly cgroups: CgroupFacts;
  readonly ports: readonly PortFacts[];
  readonly clock: ClockFacts;
  readonly disk: DiskFacts | undefined;
  readonly firewall: FirewallFacts;
  /** Ranges that other devices have. */
  readonly routes: readonly MachineRoute[] | undefined;
  /** `/etc/resolv.conf`; undefined: it is not there. */
  readonly resolvConf: string | undefined;
  /** systemd-resolved's list of the servers it asks itself. */
  readonly hasSystemdResolvConf: boolean;
  readonly certificates: readonly CertificateFile[];
  readonly programs: ProgramFacts;
  readonly nodes: NodesFacts;
}

/** What is known of further nodes on the machine (`keelson up --nodes`). */
export interface NodesFacts {
  /** Programs they need, as `program (Debian: package)`. */
  readonly missing: readonly string[];
  readonly entries: readonly NodeEntry[];
  /** The range that connects them; absent where there are none, or the record cannot be read. */
  readonly network?: string | undefined;
}

export interface SettledFacts {
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  /** The tenth service address. */
  readonly dnsAddress: string;
  readonly ownContainerd: boolean;
  readonly ownCni: boolean;
  readonly bridge: string;
  /** It joined a cluster of other machines as an agent. */
  readonly isMember: boolean;
}

export interface KernelFacts {
  readonly release: string;
  /** Kinds of file systems that it mounts now. */
  readonly fileSystems: readonly string[];
  /** Kinds of namespaces. */
  readonly namespaces: readonly string[];
  readonly hasSeccomp: boolean;
  /** Packets that cross a bridge pass the firewall. */
  readonly hasBridgeNetfilter: boolean;
  /** Modules that can be loaded, without `.ko`; empty where the kernel has all built in or the list is not there. */
  readonly modules: readonly string[];
  /** What `nft list tables` complained about; undefined: it works, or was not tried without root. */
  readonly nftError: string | undefined;
  readonly ipForward: boolean | undefined;
}

export interface CgroupFacts {
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
}

/** A TCP port that a server or node needs. */
export interface PortFacts {
  readonly port: number;
  readonly purpose: string;
  /** The flag that chooses another; absent: the next free one is taken at the first start. */
  readonly flag?: string;
  /** Settled at an earlier start, so that no other is taken. */
  readonly isSettled: boolean;
  /** The cluster itself listens. */
  readonly isOurs: boolean;
  /** Another listening process. */
  readonly holder: string | undefined;
}

export interface ClockFacts {
  readonly nowMs: number;
  /** Whether a time service keeps it right; undefined: no program says so. */
  readonly isSynchronized: boolean | undefined;
  /** The time service that runs or is enabled, where the clock is not synchronized. */
  readonly service?: 'chrony' | 'systemd-timesyncd' | undefined;
  /** When the newest file of the cluster was written. */
  readonly lastWriteMs: number | undefined;
}

/** The file system of the data directory. */
export interface DiskFacts {
  readonly path: string;
  readonly totalBytes: number;
  readonly availableBytes: number;
  /** 0 where the file system counts none. */
  readonly totalInodes: number;
  readonly availableInodes: number;
}

export interface FirewallFacts {
  /** `iptables -S`; undefined: there is no iptables, or it was not tried without root. */
  readonly iptables: string | undefined;
  /** `ip6tables -S`, likewise. */
  readonly ip6tables?: string | undefined;
  /** Chains of nftables at the forward hook with policy drop, without those of iptables. */
  readonly droppingChains: readonly DroppingChain[];
  /** Ranges that firewalld trusts; absent where it does not run. */
  readonly firewalldTrusts?: readonly string[] | undefined;
}

export interface DroppingChain {
  /** `FAMILY TABLE NAME`. */
  readonly chain: string;
  /** As nft lists it. */
  readonly rules: string;
}

export interface CertificateFile {
  readonly path: string;
  readonly isAuthority: boolean;
  /** It is renewed while its cluster runs. */
  readonly renewsItself: boolean;
  /** Absent: it cannot be read, for this reason. */
  readonly times?: { readonly notBeforeMs: number; readonly notAfterMs: number };
  /** Common name; '' where it cannot be read. */
  readonly subject?: string;
  readonly error?: string;
}

export interface ProgramFacts {
  /** As `program (Debian: package)`. */
  readonly missing: readonly string[];
  /** First line of `--version`; absent where it is missing. */
  readonly containerd?: string | undefined;
  readonly runc?: string | undefined;
  readonly nft?: string | undefined;
}
