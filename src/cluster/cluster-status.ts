/** The status that `keelson status` prints. */
import type { NodeStatus } from './nodes/node-status.ts';
import type { StoreStatus } from '../storage/store.ts';

/** The status before the store is open. */
export const NO_STORE: StoreStatus = { kind: 'none', revision: 0, compactedRevision: 0, sizeBytes: 0, keyCount: 0 };

/** The errors that a component logged since the process started. */
export interface ErrorStatus {
  readonly component: string;
  readonly count: number;
  readonly lastTime: string;
  readonly message: string;
}

/** The file system of the data directory. */
export interface DiskStatus {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

/** The status of scheduled snapshots. */
export interface SnapshotStatus {
  readonly schedule: string;
  readonly dir: string;
  /** Absent while the server starts. */
  readonly nextTime?: string | undefined;
  /** The newest kept snapshot. */
  readonly last?: { readonly name: string; readonly time: string; readonly sizeBytes: number };
  /** Why the last attempt failed; absent after a success. */
  readonly failure?: { readonly time: string; readonly message: string } | undefined;
  /** The change log; absent when there is none. */
  readonly log?: SnapshotLogStatus | undefined;
}

/** The change log beside snapshots. */
export interface SnapshotLogStatus {
  readonly failure: { readonly time: string; readonly message: string } | undefined;
  /** The moments that can be restored; absent before the first snapshot. */
  readonly range?: {
    readonly fromRevision: number;
    readonly fromTime: string;
    readonly toRevision: number;
    readonly toTime: string;
  };
}

/** One part of the cluster. */
export interface ComponentStatus {
  readonly name: string;
  readonly healthy: boolean;
  readonly message: string;
}

/** How often the supervisor has restarted the instance since the user started it. */
export interface RestartStatus {
  readonly count: number;
  readonly lastTime: string;
  /** How the previous run ended: `signal SIGKILL`. */
  readonly lastEnd: string;
  /** The path of the crash report, or `none` and why it could not be written. */
  readonly report: string;
}

/** The whole status of one instance. */
export interface ClusterStatus extends InstanceStatus {
  /** The latest first. */
  readonly errors: readonly ErrorStatus[];
  /** Absent where it cannot be read. */
  readonly disk?: DiskStatus;
  /** Absent: the instance was never restarted. */
  readonly restarts?: RestartStatus;
}

/** The status of an instance, without its process. */
export interface InstanceStatus {
  readonly phase: 'starting' | 'running';
  /** Nodes are simulated: on this machine there is only the process and the data directory. */
  readonly simulated?: true;
  /** This machine is an agent of another machine's cluster: its status has no nodes, pods and store. */
  readonly role?: 'agent';
  readonly pid: number;
  readonly version: string;
  readonly kubernetesVersion: string;
  readonly uptimeSeconds: number;
  readonly memoryBytes: number;
  /** Memory of live objects and of buffers outside V8's heap, including garbage. */
  readonly aliveMemoryBytes: number;
  readonly server: string;
  readonly kubeconfig?: string;
  readonly containerdSocket: string;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  readonly clusterDomain: string;
  readonly components: readonly ComponentStatus[];
  readonly nodes?: readonly {
    readonly name: string;
    readonly ready: boolean;
    readonly message: string;
    readonly kubeletVersion: string;
    readonly runtime: string;
  }[];
  /** The nodes of `keelson up --nodes`, without the machine itself. */
  readonly machineNodes?: readonly NodeStatus[];
  readonly podsByPhase?: Readonly<Record<string, number>>;
  readonly store?: StoreStatus;
  /** Absent without a schedule. */
  readonly snapshots?: SnapshotStatus | undefined;
}
