/** What `keelson status` shows. */
import type { NodeStatus } from './nodes/node-status.ts';
import type { StoreStatus } from '../storage/store.ts';

/** Before the store is open. */
export const NO_STORE: StoreStatus = { kind: 'none', revision: 0, compactedRevision: 0, sizeBytes: 0, keyCount: 0 };

/** What a component logged as errors, since the process started. */
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

/** Snapshots by a schedule. */
export interface SnapshotStatus {
  readonly schedule: string;
  readonly dir: string;
  /** Absent while the server starts. */
  readonly nextTime?: string | undefined;
  /** The newest that is kept. */
  readonly last?: { readonly name: string; readonly time: string; readonly sizeBytes: number };
  /** Why the last attempt failed. Absent when it did not. */
  readonly failure?: { readonly time: string; readonly message: string } | undefined;
}

/** One part of the cluster. */
export interface ComponentStatus {
  readonly name: string;
  readonly healthy: boolean;
  readonly message: string;
}

/** How often an instance was started again, since the user started it. */
export interface RestartStatus {
  readonly count: number;
  readonly lastTime: string;
  /** How the run before this one ended: `signal SIGKILL`. */
  readonly lastEnd: string;
  /** The crash report's file, or `none` and why it could not be written. */
  readonly report: string;
}

/** The whole picture of one instance. */
export interface ClusterStatus extends InstanceStatus {
  /** The latest first. */
  readonly errors: readonly ErrorStatus[];
  /** Absent where it cannot be read. */
  readonly disk?: DiskStatus;
  /** Absent: never. */
  readonly restarts?: RestartStatus;
}

/** What an instance says of itself, without its process. */
export interface InstanceStatus {
  readonly phase: 'starting' | 'running';
  /** Nodes are simulated; nothing of the cluster is on this machine but its process and data directory. */
  readonly simulated?: true;
  /** This machine joined a cluster whose control plane is elsewhere: it knows no nodes, pods and store. */
  readonly role?: 'agent';
  readonly pid: number;
  readonly version: string;
  readonly kubernetesVersion: string;
  readonly uptimeSeconds: number;
  readonly memoryBytes: number;
  /** Objects of the process and what they hold outside V8's heap, garbage included. */
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
  /** Those of `keelson up --nodes`, without the machine itself. */
  readonly machineNodes?: readonly NodeStatus[];
  readonly podsByPhase?: Readonly<Record<string, number>>;
  readonly store?: StoreStatus;
  /** Absent where no schedule was given. */
  readonly snapshots?: SnapshotStatus | undefined;
}
