/**
 * The store for tests and `--store memory`: in memory only, otherwise as the contract says. Each write is a commit;
 * it takes effect during the call and is delivered before it resolves.
 */
import { compactedError, futureError, closedError } from '../store-errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { ExpiryQueue } from '../expiry-queue.ts';
import { inRange } from '../key-order.ts';
import type {
  DeleteRequest,
  PutRequest,
  RangeRequest,
  RangeResult,
  Store,
  StoredEntry,
  StoreStatus,
  StoreWatch,
  StoreWatcher,
  WriteResult,
} from '../store.ts';
import { WatchHub, type WatchRange } from '../watch-hub.ts';
import { History } from './history.ts';

export interface MemoryStoreDeps {
  /** For keys with a time to live. */
  readonly clock: Clock;
  readonly log?: Log;
  /** Compacts automatically at twice this number of changes, to limit memory. Default: never. */
  readonly keepChanges?: number;
  /** Written before anything else, in this order, each at a revision of its own. No key may occur twice. */
  readonly entries?: readonly { readonly key: string; readonly value: Uint8Array }[];
}

export function createMemoryStore(deps: MemoryStoreDeps): Store {
  return new MemoryStore(deps);
}

class MemoryStore implements Store {
  readonly #clock: Clock;
  readonly #history = new History();
  readonly #hub: WatchHub;
  readonly #expiries: ExpiryQueue;
  readonly #keepChanges: number;
  #closed = false;

  constructor({ clock, log, keepChanges = Infinity, entries = [] }: MemoryStoreDeps) {
    this.#clock = clock;
    this.#hub = new WatchHub(log);
    this.#keepChanges = keepChanges;
    for (const { key, value } of entries) this.#history.apply(key, value);
    this.#expiries = new ExpiryQueue({ clock, log }, async (due) => {
      for (const { key, revision } of due) await this.delete({ key, expectRevision: revision });
    });
  }

  async get(key: string): Promise<StoredEntry | undefined> {
    this.#checkOpen();
    return this.#history.latest(key);
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    this.#checkOpen();
    const history = this.#history;
    const at = request.revision ?? history.revision;
    if (at > history.revision) throw futureError(at, history.revision);
    if (at < history.compactedRevision) throw compactedError(at, history.compactedRevision);
    const limit = request.countOnly ? 0 : request.limit || Infinity;
    const entries: StoredEntry[] = [];
    let count = 0;
    for (const key of history.keys(request.start, request.end)) {
      const entry = at === history.revision ? history.latest(key) : history.at(key, at);
      if (entry === undefined) continue;
      if (count++ < limit) entries.push(entry);
    }
    return { entries, count, revision: history.revision };
  }

  async put(request: PutRequest): Promise<WriteResult> {
    this.#checkOpen();
    const lost = this.#lostCompare(request);
    if (lost !== undefined) return lost;
    const written = this.#write(request.key, request.value);
    if (request.ttlSeconds === undefined) {
      this.#expiries.clear(request.key);
    } else {
      const dueWallMs = this.#clock.nowMs() + request.ttlSeconds * 1000;
      this.#expiries.set({ key: request.key, revision: this.#history.revision, dueWallMs });
    }
    return await written;
  }

  async delete(request: DeleteRequest): Promise<WriteResult> {
    this.#checkOpen();
    const lost = this.#lostCompare(request);
    if (lost !== undefined) return lost;
    if (this.#history.latest(request.key) === undefined) return { ok: false };
    this.#expiries.clear(request.key);
    return await this.#write(request.key, undefined);
  }

  watch(range: WatchRange, watcher: StoreWatcher): StoreWatch {
    const backlog = this.#hub.add(range, watcher);
    if (this.#closed) {
      backlog.fail(closedError());
    } else if (range.afterRevision < this.#history.compactedRevision) {
      backlog.fail(compactedError(range.afterRevision, this.#history.compactedRevision));
    } else {
      const events = this.#history.eventsAfter(range.afterRevision, (key) => inRange(key, range.start, range.end));
      backlog.begin({ events, revision: this.#history.revision });
    }
    return backlog;
  }

  async compact(revision: number): Promise<void> {
    this.#checkOpen();
    if (revision > this.#history.revision) throw futureError(revision, this.#history.revision);
    if (revision > this.#history.compactedRevision) this.#history.compact(revision);
  }

  async status(): Promise<StoreStatus> {
    this.#checkOpen();
    const { revision, compactedRevision, sizeBytes, liveKeys } = this.#history;
    return { kind: 'memory', revision, compactedRevision, sizeBytes, keyCount: liveKeys };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#expiries.close();
    this.#hub.failAll(closedError());
  }

  #write(key: string, value: Uint8Array | undefined): Promise<WriteResult> {
    const event = this.#history.apply(key, value);
    const { revision } = event;
    if (this.#history.changes > 2 * this.#keepChanges) this.#history.compact(revision - this.#keepChanges);
    return new Promise((resolve) => {
      this.#hub.publish({ events: [event], revision }, () => resolve({ ok: true, revision }));
    });
  }

  #lostCompare(request: DeleteRequest): WriteResult | undefined {
    if (request.expectRevision === undefined) return undefined;
    const current = this.#history.latest(request.key);
    if ((current?.modRevision ?? 0) === request.expectRevision) return undefined;
    return current === undefined ? { ok: false } : { ok: false, current };
  }

  #checkOpen(): void {
    if (this.#closed) throw closedError();
  }
}
