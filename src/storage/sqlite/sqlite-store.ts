/**
 * The default store: one SQLite file behind a worker thread, with group commit. Writes that arrive while a batch is
 * being synced form the next batch, so that many writers share one fsync; nothing is acknowledged, or delivered to a
 * watcher, before it is on disk. A write resolves after its event was delivered. Upstream counterpart: etcd, kine.
 */
import { closedError } from '../store-errors.ts';
import { Worker } from 'node:worker_threads';
import { errorMessage } from '../../base/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { StoreChangeLog } from '../change-log.ts';
import { ExpiryQueue } from '../expiry-queue.ts';
import type {
  DeleteRequest,
  PutRequest,
  RangeRequest,
  RangeResult,
  ScanPage,
  ScanRange,
  Store,
  StoredEntry,
  StoreEvent,
  StoreStatus,
  StoreWatch,
  StoreWatcher,
  WriteResult,
} from '../store.ts';
import { type Backlog, WatchHub, type WatchRange } from '../watch-hub.ts';
import { DiskReturn } from './disk-return.ts';
import { unpacker, type WirePage, type WireRequests } from './protocol.ts';
import { createScanReader } from './scan-pace.ts';
import { endOf, entriesOf, type PendingWrite, toEntry, toEvent, toWire } from './wire-entries.ts';
import { WorkerClient } from './worker-client.ts';
import { WriteBatches } from './write-batches.ts';

/** Where the store is and what it needs. */
export interface SqliteStoreOptions {
  /** The database file; its directory must exist. */
  readonly path: string;
  readonly platform: { readonly clock: Clock; readonly log?: Log };
  /** A write that takes longer rejects with `unknownOutcome`. Default 30 s. */
  readonly writeTimeoutMs?: number;
  /** Whether an earlier run's change log continues from the first write. Otherwise the first write ends that log. */
  readonly resumesLog?: boolean;
}

type StoreClient = WorkerClient<WireRequests>;

/** Opens (or makes) the store. Rejects with `StoreError` corrupt, unavailable (locked, no access) or full. */
export async function createSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { name: 'keelson-store' });
  const client: StoreClient = new WorkerClient(options.platform.clock, worker);
  try {
    const { path, resumesLog = false } = options;
    const opened = await client.call('open', { path, resumesLog });
    return new SqliteStore(client, options, opened);
  } catch (error) {
    await client.ended();
    throw error;
  }
}

class SqliteStore implements Store {
  readonly #client: StoreClient;
  readonly #clock: Clock;
  readonly #writeTimeoutMs: number;
  readonly #hub: WatchHub;
  readonly #expiries: ExpiryQueue;
  readonly #diskReturn: DiskReturn;
  readonly #writes: WriteBatches;
  /** The last revision published to the hub. */
  #publishedRevision: number;
  #closing: Promise<void> | undefined;
  /** Backups in progress: a user's and a scheduled one may overlap. */
  readonly #backups = new Set<Promise<object>>();
  #compactionLimit: (revision: number) => Promise<number> = (revision) => Promise.resolve(revision);
  #problem: string | undefined;
  readonly changeLog: StoreChangeLog = {
    begin: (newIdentity) => this.#client.call('beginLog', { newIdentity, nowMs: this.#clock.nowMs() }),
    read: async (after, maxBytes) => (await this.#client.call('readLog', { after, maxBytes })).part,
    limitCompaction: (limit) => {
      this.#compactionLimit = limit;
    },
  };

  constructor(client: StoreClient, options: SqliteStoreOptions, opened: WireRequests['open']['answer']) {
    this.#client = client;
    this.#clock = options.platform.clock;
    this.#writes = new WriteBatches(this.#clock, (batch) => this.#commit(batch));
    this.#writeTimeoutMs = options.writeTimeoutMs ?? 30_000;
    this.#publishedRevision = opened.revision;
    this.#hub = new WatchHub(options.platform.log);
    this.#expiries = new ExpiryQueue(options.platform, async (due) => {
      await Promise.all(due.map(({ key, revision }) => this.delete({ key, expectRevision: revision })));
    });
    for (const { key, revision, expiresMs } of opened.expiries)
      this.#expiries.set({ key, revision, dueWallMs: expiresMs });
    this.#diskReturn = new DiskReturn({
      clock: this.#clock,
      revision: () => this.#publishedRevision,
      isBusy: () => this.#writes.inFlight !== undefined || this.#backups.size > 0,
      step: async () => (await client.call('shrink', {})).isDone,
    });
    client.onLost = (error) => {
      this.#diskReturn.stop();
      this.#expiries.close();
      this.#hub.failAll(error);
    };
  }

  async get(key: string): Promise<StoredEntry | undefined> {
    return (await this.range({ start: key, end: '' })).entries[0];
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    this.#checkOpen();
    const { start, end, revision } = request;
    const limit = request.countOnly ? 0 : request.limit || -1;
    const answer = await this.#client.call('range', { start, end: endOf(start, end), limit, revision });
    const take = unpacker(answer.values);
    return {
      entries: answer.entries.map((entry) => toEntry(entry, take)),
      count: answer.count,
      revision: answer.revision,
    };
  }

  async scan(range: ScanRange, onPage: (page: ScanPage) => void): Promise<number> {
    this.#checkOpen();
    const { start, end } = range;
    const reader = createScanReader();
    const hand = (page: WirePage): void => {
      onPage({ entries: entriesOf(page) });
      reader.take();
    };
    const request = { start, end: endOf(start, end), taken: reader.taken };
    try {
      return (await this.#client.call('scan', request, { onPage: hand })).revision;
    } finally {
      reader.stop();
    }
  }

  put(request: PutRequest): Promise<WriteResult> {
    const { key, value, expectRevision, ttlSeconds } = request;
    const expiresMs = ttlSeconds === undefined ? undefined : Math.ceil(this.#clock.nowMs() + ttlSeconds * 1000);
    return this.#enqueue({ key, value, expectRevision, expiresMs });
  }

  delete(request: DeleteRequest): Promise<WriteResult> {
    const { key, expectRevision } = request;
    return this.#enqueue({ key, value: undefined, expectRevision, expiresMs: undefined });
  }

  watch(range: WatchRange, watcher: StoreWatcher): StoreWatch {
    const backlog = this.#hub.add(range, watcher);
    if (this.#closing !== undefined) backlog.fail(closedError());
    else if (range.afterRevision >= this.#publishedRevision)
      backlog.begin({ events: [], revision: this.#publishedRevision });
    else this.#replay(range, backlog).catch((error: unknown) => backlog.fail(error as Error));
    return backlog;
  }

  async compact(upTo: number): Promise<void> {
    const revision = Math.min(upTo, await this.#compactionLimit(upTo));
    for (;;) {
      this.#checkOpen();
      const { compactedRevision } = await this.#client.call('compact', { revision });
      if (compactedRevision >= revision) break;
    }
    this.#diskReturn.start();
  }

  async status(): Promise<StoreStatus> {
    this.#checkOpen();
    const status = await this.#client.call('status', {});
    return { kind: 'sqlite', ...status, ...(this.#problem !== undefined && { problem: this.#problem }) };
  }

  async backup(path: string): Promise<void> {
    this.#checkOpen();
    const backup = this.#client.call('backup', { path });
    this.#backups.add(backup);
    try {
      await backup;
    } finally {
      this.#backups.delete(backup);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#expiries.close();
    this.#diskReturn.stop();
    while (this.#writes.inFlight !== undefined) await this.#writes.inFlight;
    await Promise.allSettled(this.#backups); // the caller of `backup` gets the error
    this.#hub.failAll(closedError());
    try {
      await this.#client.call('close', {});
    } finally {
      await this.#client.ended();
    }
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw closedError();
  }

  #enqueue(write: Omit<PendingWrite, 'deferred'>): Promise<WriteResult> {
    if (this.#closing !== undefined) return Promise.reject(closedError());
    return this.#writes.add(write);
  }

  async #commit(batch: readonly PendingWrite[]): Promise<void> {
    const { keys, numbers, values } = toWire(batch);
    const timeMs = this.#clock.nowMs();
    const finish = (answer: WireRequests['write']['answer']): void => this.#finish(batch, answer);
    try {
      finish(
        await this.#client.call(
          'write',
          { keys, numbers, values, timeMs },
          { deadlineMs: this.#writeTimeoutMs, late: finish },
        ),
      );
      this.#problem = undefined;
    } catch (error) {
      this.#problem = errorMessage(error);
      for (const { deferred } of batch) deferred.reject(error);
    }
  }

  /** Delivers a committed batch, then resolves its writers. */
  #finish(batch: readonly PendingWrite[], answer: WireRequests['write']['answer']): void {
    const take = unpacker(answer.values);
    const events: StoreEvent[] = [];
    let lost = 0;
    const results = batch.map(({ key, value, expiresMs }, index): WriteResult => {
      const revision = answer.revisions[index * 2]!;
      if (revision === 0) {
        const current = answer.current[lost++];
        return current === undefined ? { ok: false } : { ok: false, current: toEntry(current, take) };
      }
      const createRevision = answer.revisions[index * 2 + 1]!;
      events.push(toEvent({ key, value, modRevision: revision, createRevision }));
      if (expiresMs === undefined) this.#expiries.clear(key);
      else this.#expiries.set({ key, revision, dueWallMs: expiresMs });
      return { ok: true, revision };
    });
    const resolveAll = (): void => {
      for (const [index, { deferred }] of batch.entries()) deferred.resolve(results[index]!);
    };
    const last = events.at(-1);
    if (last === undefined) return resolveAll();
    this.#publishedRevision = last.revision;
    this.#diskReturn.startWhenLogHasGrown();
    this.#hub.publish({ events, revision: last.revision }, resolveAll);
  }

  async #replay(range: WatchRange, backlog: Backlog): Promise<void> {
    const { start, end, afterRevision } = range;
    try {
      const answer = await this.#client.call('events', { start, end: endOf(start, end), afterRevision });
      const take = unpacker(answer.values);
      const events = answer.events.map(({ type, entry: wire }): StoreEvent => {
        const entry = toEntry(wire, take);
        return toEvent(type === 'delete' ? { ...entry, value: undefined } : entry);
      });
      backlog.begin({ events, revision: answer.revision });
    } catch (error) {
      backlog.fail(error as Error);
    }
  }
}
