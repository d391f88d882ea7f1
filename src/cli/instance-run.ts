/** The contract of what runs in the foreground of a process. */
import type { InstanceStatus } from '../cluster/cluster-status.ts';
import type { NodeAction } from '../cluster/nodes/node-actions.ts';
import type { Progress } from '../cluster/progress.ts';
import type { MoveContext, MoveReport } from '../cluster/store/move/move-store.ts';
import type { StoreChoice } from '../cluster/store/store-options.ts';
import type { NodePlatform } from '../platform/node/node-platform.ts';
import type { Settings } from './arguments/settings-file.ts';
import type { InstanceStart } from './instance-start.ts';

/** A cluster or node that runs in the foreground. */
export interface RunnableCluster {
  /** Starts the cluster. Resolves when it is ready. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Rejects when a part fails for good after the start. */
  readonly failed: Promise<never>;
  status(): Promise<InstanceStatus>;
  /** Copies the store to this file during operation; rejects when there is nothing to copy. Absent: no store. */
  backup?(file: string): Promise<void>;
  /** Verbs and paths of requests being served, for crash reports. */
  underWay?(): readonly string[];
  /** Records an event for this machine's node. Absent when it has no node. */
  announce?(reason: 'KeelsonRestarted', message: string): void;
  /** Performs a user's action on a further node of this machine. Absent: there can be none. */
  actOnNode?(action: NodeAction, name: string): Promise<string>;
  /** Moves the state to another store. Absent: the state cannot be moved. */
  moveStore?(to: StoreChoice, context: MoveContext): Promise<MoveReport>;
  /** Releases caches while the instance is idle. */
  releaseMemory?(): void;
}

export interface InstanceRun {
  readonly dataDir: string;
  readonly start: InstanceStart;
  /**
   * Checks and prepares everything; nothing runs before `start`. Throws `PreflightError`. The signal aborts when the
   * instance is to stop.
   */
  create(platform: NodePlatform, progress: Progress, signal: AbortSignal): Promise<RunnableCluster>;
  /** The same with another store. Absent: the state cannot be moved. */
  withStore?(store: StoreChoice, settings: Settings): InstanceRun;
}
