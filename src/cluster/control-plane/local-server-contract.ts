/** The interface between a server's composition and its control plane. */
import type { StopParts } from '../stop-parts.ts';
import type { ClusterPki } from '../../component-helpers/pki/cluster-pki.ts';
import type { ClusterOptions } from '../cluster-options.ts';
import { type ComponentStatus, type InstanceStatus } from '../cluster-status.ts';
import type { ApiServerSetup } from './api-server-setup.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Instance } from '../instance/instance.ts';
import type { PortReservation } from '../instance/port-reservation.ts';
import { type MachinePorts } from '../gateway/machine-ports.ts';
import type { StoreChoice } from '../store/store-options.ts';
import type { MoveContext, MoveReport } from '../store/move/move-store.ts';
import type { Progress } from '../progress.ts';
import type { SchedulerSetup } from './scheduler-setup.ts';

/** The settings of the control plane, once names, ranges and ports are chosen. */
export interface LocalServerConfig {
  readonly instance: Instance;
  readonly options: ClusterOptions;
  /** The address at which other machines and pods reach the API server. */
  readonly advertiseAddress: string;
  readonly kubeletPort: number;
  /** Reserves the API server's port until it listens; absent when the user chose the port. */
  readonly apiPort: PortReservation | undefined;
  /** Whether the state is in an etcd that this server runs. */
  readonly ownEtcd: boolean;
  readonly progress: Progress;
}

/** Its share of `keelson status`. */
export type ServerStatus = Required<Pick<InstanceStatus, 'nodes' | 'podsByPhase' | 'store'>> &
  Pick<InstanceStatus, 'snapshots'>;

/** The content of the files that options name. Only `readFiles` creates it. */
export interface ServerFiles {
  readonly apiServer: ApiServerSetup | undefined;
  readonly scheduler: SchedulerSetup | undefined;
  readonly machinePorts: MachinePorts;
}

export interface LocalServer {
  /**
   * Reads the files that options name: errors in them are reported before anything runs. The cluster's certificates are
   * made before, as some of the files may be theirs. Frees the ports that the machine needs, among them `kubeletPlainPorts`,
   * and refuses them for routes. Rejects with `PreflightError`.
   */
  readFiles(kubeletPlainPorts: readonly number[]): Promise<ServerFiles>;
  /** Resolves when the API answers and controllers and scheduler run. */
  start(
    read: ServerFiles,
    signal: AbortSignal,
  ): Promise<{ readonly controlPlane: ControlPlane; readonly pki: ClusterPki }>;
  /** Resolves once the kinds of the Gateway API are served that this start has brought; after ten seconds at most. */
  providedKinds(signal: AbortSignal): Promise<void>;
  /** Rejects when controllers or scheduler fail for good. */
  readonly failed: Promise<never>;
  ready(): boolean;
  /** The components beside the API server. */
  components(): readonly ComponentStatus[];
  /** Its share of `keelson status`. */
  status(): Promise<ServerStatus>;
  /** Copies the store to this file while the server works. */
  backup(file: string): Promise<void>;
  /**
   * Moves the state to another store while the server works; `commit` makes the new one the current store. After that writes are
   * refused.
   */
  moveStore(to: StoreChoice, move: MoveContext): Promise<MoveReport>;
  /** Verbs and paths of the requests that are being served. */
  underWay(): readonly string[];
  /** Releases caches while the server is idle. */
  releaseMemory(): void;
  /** Call after the signal has aborted. */
  stop(parts: StopParts): Promise<void>;
}
