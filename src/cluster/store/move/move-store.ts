/**
 * Moves a server's state to another store while it runs: copies, follows, lets writes wait for the last changes, compares,
 * and makes the other store count. A failure at any step before that leaves the old store in charge and the new one empty.
 */
import { rm } from 'node:fs/promises';
import { MASTER_LEASES } from '../../../apiserver/bootstrap/endpoint-leases.ts';
import { EVENT_TTL_SECONDS } from '../../../apiserver/registry/core/events/definition.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { PausableStore } from '../../../storage/pausable-store.ts';
import { prefixEnd, type Store, StoreError } from '../../../storage/store.ts';
import type { ClusterOptions } from '../../cluster-options.ts';
import type { Instance } from '../../instance/instance.ts';
import { PreflightError } from '../../preflight-error.ts';
import { openStore } from '../open-store.ts';
import { setAside } from '../snapshots.ts';
import type { StoreChoice } from '../store-options.ts';
import { StoreCopy, type CopyReport } from './copy-store.ts';

/** The caller's dependencies for a move. */
export interface MoveContext {
  report(line: string): void;
  /** Makes the new store the one of the next start. */
  commit(): Promise<void>;
}

/** What was moved. */
export interface MoveReport extends CopyReport {
  /** How long writes waited before the server ended. */
  readonly heldMs: number;
}

interface StoreMove extends MoveContext {
  readonly to: StoreChoice;
  readonly plain: { readonly inner: Store; readonly pausable: PausableStore } | undefined;
  readonly instance: Pick<Instance, 'storeFile'>;
  readonly options: Pick<ClusterOptions, 'store' | 'snapshots'>;
}

/** Requests wait for so long at most: clients and upstream's own time limits allow a minute. */
const MAX_HELD_MS = 20_000;

/** Rejects with `PreflightError`. */
export async function moveStore(platform: Platform, move: StoreMove): Promise<MoveReport> {
  const { plain } = move;
  checkMove(move);
  if (plain === undefined) throw new PreflightError('the cluster is starting; try again when it runs');
  await refuseSharedStore(plain.inner);
  const target = await openTarget(platform, move, plain.inner);
  try {
    return await copyAndCommit(platform, move, { ...plain, target });
  } catch (error) {
    if (move.to.kind === 'sqlite') {
      await target.close();
      for (const suffix of ['', '-wal', '-shm']) await rm(move.instance.storeFile + suffix, { force: true });
    }
    throw new PreflightError(`${errorMessage(error)}; the old store is still the one in charge`, { cause: error });
  } finally {
    await target.close();
  }
}

function checkMove({ to, options }: StoreMove): void {
  const { store, snapshots } = options;
  if (store.kind === 'memory') throw new PreflightError('a store in memory cannot be moved');
  if (to.kind === 'memory') throw new PreflightError('a store in memory would be gone with its process');
  if (to.kind === store.kind) throw new PreflightError(`the state is in ${to.kind} already`);
  if (to.kind === 'etcd' && snapshots?.log !== undefined)
    throw new PreflightError('--snapshot-log is for SQLite alone: start the cluster without it first');
}

async function copyAndCommit(
  { clock, log }: Pick<Platform, 'clock' | 'log'>,
  { report, commit }: StoreMove,
  { inner, pausable, target }: { readonly inner: Store; readonly pausable: PausableStore; readonly target: Store },
): Promise<MoveReport> {
  const over = new AbortController();
  const copy = new StoreCopy(inner, target, { eventTtlSeconds: EVENT_TTL_SECONDS, report, signal: over.signal });
  let cancel = (): void => undefined;
  try {
    await copy.begin();
    const heldSinceMs = clock.monotonicMs();
    const tooLong = new Promise<never>((_resolve, reject) => {
      cancel = clock.setTimer(MAX_HELD_MS, () => {
        const error = new Error(`the last changes took longer than ${MAX_HELD_MS / 1000} s`);
        over.abort(error);
        reject(error);
      });
    });
    await Promise.race([pausable.pause(), tooLong]);
    const copied = await Promise.race([copy.finish(), tooLong]);
    cancel();
    await commit();
    pausable.release('refuse');
    await copy.end({ undo: false });
    return { ...copied, heldMs: clock.monotonicMs() - heldSinceMs };
  } catch (error) {
    cancel();
    pausable.release('go on');
    await copy
      .end({ undo: true })
      .catch((err: unknown) =>
        log.warn('what was copied of the state stays in the store that it was to move to', { err }),
      );
    throw error;
  }
}

async function openTarget(platform: Platform, { to, instance }: StoreMove, source: Store): Promise<Store> {
  if (to.kind === 'sqlite') {
    await setAside(instance.storeFile, 'before-move');
    const { createStoreFile } = await import('../../../storage/sqlite/backup.ts');
    createStoreFile(instance.storeFile, (await source.status()).revision + REVISIONS_AHEAD);
  }
  return openStore(platform, { choice: to, file: instance.storeFile });
}

/** More than are given out while the copy is made: SQLite's revision need not be counted up. */
const REVISIONS_AHEAD = 100_000;

/** Other servers that share the etcd would continue to use it. */
async function refuseSharedStore(store: Store): Promise<void> {
  if (store.latestRevision === undefined) return;
  try {
    const { count } = await store.range({ start: MASTER_LEASES, end: prefixEnd(MASTER_LEASES), countOnly: true });
    if (count > 1) throw new PreflightError(`${count} servers use this etcd: stop the others first`);
  } catch (error) {
    throw error instanceof StoreError ? new PreflightError(error.message) : error;
  }
}
