/**
 * The store of several servers: an etcd cluster through its gRPC API, with upstream's layout of keys. Upstream: etcd3
 * store.
 *
 * Invariants beyond the contract's: writes of one key by this process take effect in the order of the calls; a write
 * resolves after its event was delivered, or after a timeout if the watch is behind (fresh reads use
 * `latestRevision`). Other processes write too, so there are revisions this process did not make.
 */
import { compactedError, closedError } from '../store-errors.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { GrpcTls } from '../../grpc/grpc-target.ts';
import { type Clock, settledWithin } from '../../platform/clock.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { compareKeys } from '../key-order.ts';
import {
  type DeleteRequest,
  type PutRequest,
  type RangeRequest,
  type RangeResult,
  type Store,
  type StoredEntry,
  StoreError,
  type StoreEvent,
  type StoreStatus,
  type StoreWatch,
  type StoreWatcher,
  type WriteResult,
} from '../store.ts';
import { type Backlog, WatchHub, type WatchRange } from '../watch-hub.ts';
import { createEtcdCodec, type EtcdCodec } from './codec.ts';
import { Deliveries } from './deliveries.ts';
import { storeErrorOf } from './errors.ts';
import { EtcdClient } from './etcd-client.ts';
import { EtcdWrites } from './etcd-writes.ts';
import { CompactedError, type EventFeedDeps, readEvents, runEventFeed } from './event-feed.ts';
import { LeasePool } from './lease-pool.ts';
import { SharedRead } from './shared-read.ts';

/** Where the store is and what it needs. */
export interface EtcdStoreOptions {
  /** URLs of the cluster's members. */
  readonly endpoints: readonly string[];
  readonly tls?: GrpcTls;
  /** As `--etcd-prefix`. Default `/registry`. */
  readonly prefix?: string;
  readonly platform: Pick<BasePlatform, 'clock' | 'random' | 'log'>;
  /** Deadline of one call. Default 30 s. */
  readonly timeoutMs?: number;
  /** Calls back when the cluster's members change; returns a function that stops this. */
  readonly followEndpoints?: (listener: (endpoints: readonly string[]) => void) => () => void;
}

/** Larger ranges are read in pages of this many entries, at one revision. */
const PAGE_ENTRIES = 5_000;
/** Connects. Rejects with `StoreError` when no member answers. */
export async function createEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  const client = new EtcdClient(options.platform, options);
  const store = new EtcdStore(client, options);
  try {
    await store.open();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** How long `close` waits for writes in progress: an etcd that does not answer delays each for half a minute. */
const CLOSE_WITHIN_MS = 5_000;

class EtcdStore implements Store {
  readonly #clock: Clock;
  readonly #client: EtcdClient;
  readonly #deliveries: Deliveries;
  readonly #latestRevision: SharedRead<number>;
  readonly #codec: EtcdCodec;
  readonly #feed: EventFeedDeps;
  readonly #etcdWrites: EtcdWrites;
  readonly #hub: WatchHub;
  readonly #keys = new KeyedMutex();
  readonly #lifetime = new AbortController();
  readonly #writes = new Set<Promise<unknown>>();
  readonly #unfollow: () => void;
  /** The last revision published to the hub. */
  #published = 0;
  #compacted = 0;
  #closing: Promise<void> | undefined;

  constructor(client: EtcdClient, options: EtcdStoreOptions) {
    const { clock, random, log } = options.platform;
    this.#clock = clock;
    this.#client = client;
    this.#hub = new WatchHub(log);
    this.#codec = createEtcdCodec(options.prefix);
    this.#feed = { client, clock, log, codec: this.#codec };
    this.#etcdWrites = new EtcdWrites({ client, codec: this.#codec, leases: new LeasePool({ client, clock, random }) });
    this.#deliveries = new Deliveries(clock);
    this.#latestRevision = new SharedRead(() => this.#askRevision());
    this.#unfollow = options.followEndpoints?.((endpoints) => client.setEndpoints(endpoints)) ?? (() => undefined);
  }

  /** Starts following the changes. */
  async open(): Promise<void> {
    this.#published = await this.#askRevision();
    await new Promise<void>((resolve, reject) => {
      runEventFeed(
        this.#feed,
        {
          onEvents: (events, revision) => this.#publish(events, revision),
          onGap: (compactedRevision) => this.#skipGap(compactedRevision),
        },
        { after: this.#published, signal: this.#lifetime.signal, onCreated: resolve },
      ).then(resolve, (error: unknown) => {
        this.#hub.failAll(error as Error);
        reject(error);
      });
    });
  }

  async get(key: string): Promise<StoredEntry | undefined> {
    return (await this.range({ start: key, end: '' })).entries[0];
  }

  async range(request: RangeRequest): Promise<RangeResult> {
    const { start, end, limit, countOnly } = request;
    const entries: StoredEntry[] = [];
    let from = start;
    let at = request.revision;
    let first: { count: number; revision: number } | undefined;
    for (;;) {
      this.#checkOpen();
      const left = limit ? limit - entries.length : PAGE_ENTRIES;
      const page = await this.#client.call(
        'KV/Range',
        {
          key: this.#codec.key(from),
          ...(end === '' ? {} : { rangeEnd: this.#codec.key(end) }),
          ...(at === undefined ? {} : { revision: at }),
          limit: Math.min(left, PAGE_ENTRIES),
          countOnly: countOnly ?? false,
        },
        { doing: 'reading' },
      );
      first ??= { count: page.count, revision: page.header.revision };
      at ??= page.header.revision; // further pages are read at the same revision
      for (const kv of page.kvs) entries.push(this.#codec.entry(kv));
      const last = entries.at(-1);
      if (!page.more || last === undefined || entries.length === limit) return { entries, ...first };
      from = `${last.key}\0`;
    }
  }

  put(request: PutRequest): Promise<WriteResult> {
    return this.#accept(request.key, () => this.#etcdWrites.put(request));
  }

  delete(request: DeleteRequest): Promise<WriteResult> {
    return this.#accept(request.key, () => this.#etcdWrites.delete(request));
  }

  watch(range: WatchRange, watcher: StoreWatcher): StoreWatch {
    const backlog = this.#hub.add(range, watcher);
    if (this.#closing !== undefined) backlog.fail(closedError());
    else if (range.afterRevision < this.#compacted) backlog.fail(compactedError(range.afterRevision, this.#compacted));
    else if (range.afterRevision >= this.#published) backlog.begin({ events: [], revision: this.#published });
    else this.#replay(range, backlog).catch((error: unknown) => backlog.fail(error as Error));
    return backlog;
  }

  async compact(revision: number): Promise<void> {
    this.#checkOpen();
    try {
      await this.#client.call('KV/Compact', { revision }, { doing: 'compacting' });
    } catch (error) {
      // Another server was faster.
      if (!(error instanceof StoreError && error.code === 'compacted')) throw error;
    }
    this.#compacted = Math.max(this.#compacted, revision);
  }

  async status(): Promise<StoreStatus> {
    this.#checkOpen();
    const [member, all] = await Promise.all([
      this.#client.call('Maintenance/Status', {}, { doing: 'asking for the status' }),
      this.range({ start: '', end: '\u{10ffff}', countOnly: true }),
    ]);
    return {
      kind: 'etcd',
      revision: all.revision,
      compactedRevision: this.#compacted,
      sizeBytes: member.dbSize,
      keyCount: all.count,
    };
  }

  latestRevision(): Promise<number> {
    return this.#latestRevision.read();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await settledWithin(this.#clock, CLOSE_WITHIN_MS, Promise.allSettled(this.#writes));
    this.#lifetime.abort(closedError());
    this.#hub.failAll(closedError());
    this.#unfollow();
    this.#client.close();
  }

  /** A quorum read of nothing. */
  async #askRevision(): Promise<number> {
    if (this.#closing !== undefined) throw closedError();
    const answer = await this.#client.call(
      'KV/Range',
      { key: this.#codec.key(''), countOnly: true },
      { doing: 'asking for the revision' },
    );
    return answer.header.revision;
  }

  #accept(key: string, write: () => Promise<WriteResult>): Promise<WriteResult> {
    if (this.#closing !== undefined) return Promise.reject(closedError());
    const result = this.#keys
      .run(key, write)
      .then((written) => (written.ok && this.#published < written.revision ? this.#deliveries.wait(written) : written));
    this.#writes.add(result);
    const forget = (): void => {
      this.#writes.delete(result);
    };
    result.then(forget, forget);
    return result;
  }

  #publish(events: readonly StoreEvent[], revision: number): void {
    this.#published = revision;
    this.#hub.publish({ events, revision }, () => this.#deliveries.wake(revision));
  }

  /** Changes were compacted before this process saw them: every watcher must read again. */
  async #skipGap(compactedRevision: number): Promise<number> {
    const revision = await this.#askRevision();
    this.#compacted = Math.max(this.#compacted, compactedRevision);
    this.#hub.failAll(compactedError(this.#published, compactedRevision));
    this.#published = revision;
    this.#deliveries.wake(revision);
    return revision;
  }

  /**
   * Delivers what a watcher missed. It begins at the watcher's own revision, so that etcd reports if that one is
   * compacted.
   */
  async #replay({ start, end, afterRevision }: WatchRange, backlog: Backlog): Promise<void> {
    const target = this.#published;
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, this.#lifetime.signal]);
    const stop = end === '' ? `${start}\0` : end;
    const missed: StoreEvent[] = [];
    try {
      for await (const events of readEvents(this.#feed, Math.max(1, afterRevision), { signal })) {
        for (const event of events) {
          const wanted = event.revision > afterRevision && event.revision <= target;
          if (wanted && compareKeys(event.key, start) >= 0 && compareKeys(event.key, stop) < 0) missed.push(event);
        }
        if (events.at(-1)!.revision >= target) break;
      }
      backlog.begin({ events: missed, revision: target });
    } catch (error) {
      if (error instanceof CompactedError) backlog.fail(compactedError(afterRevision, error.compactedRevision));
      else backlog.fail(this.#closing === undefined ? watchError(error) : closedError());
    } finally {
      abort.abort();
    }
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw closedError();
  }
}

function watchError(error: unknown): Error {
  const known = storeErrorOf(error, { doing: 'watching', writes: false });
  return known instanceof StoreError ? known : new StoreError('unavailable', `etcd: watching: ${String(error)}`);
}
