/**
 * The facts that `keelson doctor` reads about a machine and the cluster in a data directory, as input of the checks.
 */
import type { MachineRoute } from '../instance/preflight.ts';
import type { NodeEntry } from '../nodes/nodes-file.ts';

export interface Machine {
  readonly isRoot: boolean;
  readonly dataDir: string;
  /** The cluster's process; absent: the cluster is stopped, or there is none. */
  readonly pid: number | undefined;
  /** Why the file with the settings of the first start cannot be read; undefined: it can, or there is none. */
  readonly instanceError: string | undefined;
  /** The cluster's settled names and ranges; absent before the first start. */
  readonly settled: SettledFacts | undefined;
  readonly kernel: KernelFacts;
  readonly cgroups: CgroupFacts;
  readonly ports: readonly PortFacts[];
  readonly clock: ClockFacts;
  readonly disk: DiskFacts | undefined;
  readonly firewall: FirewallFacts;
  /** Ranges of other devices. */
  readonly routes: readonly MachineRoute[] | undefined;
  /** `/etc/resolv.conf`; undefined: missing. */
  readonly resolvConf: string | undefined;
  /** Whether systemd-resolved has a list of its upstream servers. */
  readonly hasSystemdResolvConf: boolean;
  readonly certificates: readonly CertificateFile[];
  readonly programs: ProgramFacts;
  readonly nodes: NodesFacts;
}

/** The further nodes on the machine (`keelson up --nodes`). */
export interface NodesFacts {
  /** Required programs that are missing, as `program (Debian: package)`. */
  readonly missing: readonly string[];
  readonly entries: readonly NodeEntry[];
  /** The range of their bridge; absent without such nodes, or when the record cannot be read. */
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
  /** It is an agent of another machine's cluster. */
  readonly isMember: boolean;
}

export interface KernelFacts {
  readonly release: string;
  /** Kinds of file systems that the kernel can mount now. */
  readonly fileSystems: readonly string[];
  /** Kinds of namespaces. */
  readonly namespaces: readonly string[];
  readonly hasSeccomp: boolean;
  /** Packets that cross a bridge pass the firewall. */
  readonly hasBridgeNetfilter: boolean;
  /** Loadable modules, without `.ko`; empty when the kernel has all built in or has no list. */
  readonly modules: readonly string[];
  /** The error of `nft list tables`; undefined: it works, or was not tried without root. */
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
  /** The flag that changes it; absent: the next free port is used at the first start. */
  readonly flag?: string;
  /** Settled by an earlier start, so it is not changed. */
  readonly isSettled: boolean;
  /** The cluster itself listens on it. */
  readonly isOurs: boolean;
  /** Another process that listens on it. */
  readonly holder: string | undefined;
}

export interface ClockFacts {
  readonly nowMs: number;
  /** Whether a time service keeps it synchronized; undefined: unknown. */
  readonly isSynchronized: boolean | undefined;
  /** A time service that runs or is enabled although the clock is not synchronized. */
  readonly service?: 'chrony' | 'systemd-timesyncd' | undefined;
  /** The time of the cluster's newest file. */
  readonly lastWriteMs: number | undefined;
}

/** The file system of the data directory. */
export interface DiskFacts {
  readonly path: string;
  readonly totalBytes: number;
  readonly availableBytes: number;
  /** 0: the file system has no limit of inodes. */
  readonly totalInodes: number;
  readonly availableInodes: number;
}

export interface FirewallFacts {
  /** `iptables -S`; undefined: there is no iptables, or it was not tried without root. */
  readonly iptables: string | undefined;
  /** `ip6tables -S`, likewise. */
  readonly ip6tables?: string | undefined;
  /** nftables chains at the forward hook with policy drop, without those of iptables. */
  readonly droppingChains: readonly DroppingChain[];
  /** Ranges that firewalld trusts; absent when it does not run. */
  readonly firewalldTrusts?: readonly string[] | undefined;
}

export interface DroppingChain {
  /** `FAMILY TABLE NAME`. */
  readonly chain: string;
  /** As nft prints it. */
  readonly rules: string;
}

export interface CertificateFile {
  readonly path: string;
  readonly isAuthority: boolean;
  /** The running cluster renews it. */
  readonly renewsItself: boolean;
  /** Absent: it cannot be read, for the reason in `error`. */
  readonly times?: { readonly notBeforeMs: number; readonly notAfterMs: number };
  /** Common name; '' where it cannot be read. */
  readonly subject?: string;
  readonly error?: string;
}

export interface ProgramFacts {
  /** As `program (Debian: package)`. */
  readonly missing: readonly string[];
  /** First line of `--version`; absent when it is missing. */
  readonly containerd?: string | undefined;
  readonly runc?: string | undefined;
  /** What the encrypted tunnels between nodes lack, likewise; absent: the cluster does not use them. */
  readonly missingForWireguard?: readonly string[] | undefined;
  readonly nft?: string | undefined;
}
