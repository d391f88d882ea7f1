/**
 * The move of a running instance's state to another store, seen from its process: the cluster copies, then ends here and
 * starts again on the new store, in the same process. Where that start fails, the old store is in charge again.
 */
import { createDeferred, type Deferred } from '../base/deferred.ts';
import { errorMessage } from '../base/errors.ts';
import { setAside } from '../cluster/store/snapshots.ts';
import type { StoreChoice } from '../cluster/store/store-options.ts';
import { PreflightError } from '../cluster/preflight-error.ts';
import type { Files } from '../platform/files.ts';
import type { Platform } from '../platform/platform.ts';
import { readSettings, writeSettings, type Settings } from './arguments/settings-file.ts';
import type { InstanceRun, RunnableCluster } from './instance-run.ts';

/** What the command sends. */
export interface MoveRequest {
  readonly store: StoreChoice;
  /** The flags that a later start takes up. */
  readonly settings: Settings;
}

interface Request {
  readonly text: string;
  readonly cluster: RunnableCluster | undefined;
  readonly files: Files;
  report(line: string): void;
}

interface PendingMove {
  readonly next: InstanceRun;
  readonly before: InstanceRun;
  readonly formerSettings: Settings;
  readonly started: Deferred<void>;
}

export class StoreMove {
  #run: InstanceRun;
  #isMoving = false;
  #pending: PendingMove | undefined;
  #committed = createDeferred<void>();
  #hasMoved = false;

  constructor(run: InstanceRun) {
    this.#run = run;
  }

  /** Whether the instance has started on another store in this process. */
  get hasMoved(): boolean {
    return this.#hasMoved;
  }

  /** Resolves when the new store counts: the cluster is to end and to start on it. */
  committed(): Promise<void> {
    return this.#committed.promise;
  }

  /** Serves one cluster. What fails before the new store's cluster has started goes back to the old one. */
  async attempt(platform: Platform, work: (run: InstanceRun) => Promise<void>): Promise<void> {
    const pending = this.#pending;
    if (pending !== undefined) this.#run = pending.next;
    try {
      await work(this.#run);
    } catch (error) {
      if (pending === undefined || this.#pending !== pending) throw error;
      await writeSettings(platform.files, this.#run.dataDir, pending.formerSettings);
      platform.log.error('the cluster does not start on the new store; the old one is in charge again', { err: error });
      this.#run = pending.before;
      this.#pending = undefined;
      pending.started.reject(new PreflightError(`${errorMessage(error)}; the old store is in charge again`));
    }
  }

  /** The cluster has started. */
  settle(): void {
    const pending = this.#pending;
    if (pending === undefined || this.#run !== pending.next) return;
    this.#pending = undefined;
    pending.started.resolve();
  }

  /** Resolves when the cluster runs on the new store. Rejects with `PreflightError`. */
  async request({ text, cluster, files, report }: Request): Promise<string> {
    const { store, settings } = JSON.parse(text) as MoveRequest;
    const before = this.#run;
    if (cluster === undefined) throw new PreflightError('the cluster is starting; try again when it runs');
    if (cluster.moveStore === undefined || before.withStore === undefined)
      throw new PreflightError('this machine keeps no state of the cluster that could be moved');
    if (before.start.hasOwnStore === true)
      throw new PreflightError(
        'the cluster was started with --store, which its next start would take again: restart it without (it is remembered)',
      );
    if (this.#isMoving) throw new PreflightError('the state is being moved already');
    this.#isMoving = true;
    const started = createDeferred<void>();
    started.promise.catch(() => undefined); // Awaited below, unless the move fails before.
    try {
      const { dataDir } = before;
      const formerSettings = readSettings(dataDir);
      const next = before.withStore(store, settings);
      const commit = (): Promise<void> => writeSettings(files, dataDir, { ...formerSettings, ...settings });
      const { objects, from, to, heldMs } = await cluster.moveStore(store, { report, commit });
      report(
        `${objects} objects are in the new store; revision ${from} is followed by ${to}; writes waited ${Math.round(heldMs)} ms`,
      );
      this.#pending = { next, before, formerSettings, started };
      const end = this.#committed;
      this.#committed = createDeferred<void>();
      this.#hasMoved = true;
      end.resolve();
      await started.promise;
      if (store.kind !== 'sqlite') await setAside(`${dataDir}/state.db`, 'before-move');
      return 'the cluster runs on the new store';
    } finally {
      this.#isMoving = false;
    }
  }
}
