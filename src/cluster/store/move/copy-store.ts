/**
 * Copies a store that is written to into another one, until both are the same. Revisions are the target's own: it is raised
 * above the source's first, so that every object's revision rises and none that the source assigned is repeated; at the end
 * the target is compacted, so that watches from the source's revisions must list again. Upstream: etcd's
 * restore with `--bump-revision --mark-compacted`.
 */
import { MASTER_LEASES } from '../../../apiserver/bootstrap/endpoint-leases.ts';
import { createDeferred } from '../../../base/deferred.ts';
import { scanStore } from '../../../storage/scan-store.ts';
import { prefixEnd, type Store, type StoredEntry, type StoreEvent, type StoreWatch } from '../../../storage/store.ts';
import { PreflightError } from '../../preflight-error.ts';

const OWN = '/registry/';
const RANGE = { start: OWN, end: prefixEnd(OWN) };
const EVENTS = ['/registry/events/', '/registry/events.events.k8s.io/'];
/** Writes under way at once. */
const LANES = 128;
/** The last changes are applied while writes wait: so many at most. */
const LAST_CHANGES = 200;
/** A write that counts the target's revision up takes a tenth of a millisecond. */
const MAX_RAISE = 10_000_000;
const RAISE_STEP = 50_000;
/** Keys of the copy itself. */
const OWN_KEYS = '/registry/keelson-move/';
const RAISING = `${OWN_KEYS}raise-`;
const MARK = `${OWN_KEYS}mark`;

/** What a copy reports and obeys. */
export interface CopyContext {
  readonly eventTtlSeconds: number;
  report(line: string): void;
  readonly signal: AbortSignal;
}

/** What was copied. */
export interface CopyReport {
  readonly objects: number;
  /** The source's last revision and the target's. */
  readonly from: number;
  readonly to: number;
}

export class StoreCopy {
  readonly #source: Store;
  readonly #target: Store;
  readonly #context: CopyContext;
  /** The newest change of each key that the target does not have yet. */
  #waiting = new Map<string, StoreEvent>();
  #watch: StoreWatch | undefined;
  /** It was empty: what is there was copied. */
  #isTargetOurs = false;
  readonly #failure = createDeferred<never>();
  /** Resolves when no lane writes any more. */
  #writing: Promise<unknown> = Promise.resolve();
  /** The source's revision that the watch has come to. */
  #seen = 0;
  readonly #wakers: (() => void)[] = [];

  constructor(source: Store, target: Store, context: CopyContext) {
    this.#source = source;
    this.#target = target;
    this.#context = context;
    this.#failure.promise.catch(() => undefined); // Callers that await the promise handle the error.
  }

  /** Copies everything, and follows until little is left. Rejects with `PreflightError` for a target that is not empty. */
  async begin(): Promise<void> {
    const { report } = this.#context;
    const rangeResult = await this.#target.range({ ...RANGE, countOnly: true });
    if (rangeResult.count > 0)
      throw new PreflightError(`the store to move to has ${rangeResult.count} keys below ${OWN}: it must be empty`);
    this.#isTargetOurs = true;
    await this.#raise((await this.#source.status()).revision);
    const entries: StoredEntry[] = [];
    const revision = await scanStore(this.#source, RANGE, (page) => {
      for (const entry of page.entries) if (isCopied(entry)) entries.push(entry);
    });
    this.#follow(revision);
    // The source has gone on while the target was raised.
    await this.#raise(revision);
    report(`${entries.length} objects to copy, as of revision ${revision}`);
    await this.#each(entries, (entry) => this.#put(entry.key, entry.value));
    do await this.#applyWaiting();
    while (this.#waiting.size > LAST_CHANGES);
    report('the copy follows');
  }

  /** While nothing is written to the source: applies the rest, compares both whole, and makes the target ready to be used. */
  async finish(): Promise<CopyReport> {
    // A change of our own: what was written before it has been seen when it is.
    const marked = await this.#source.put({ key: MARK, value: Buffer.from('0') });
    if (!marked.ok) throw new Error('the old store refuses writes');
    const from = marked.revision;
    await this.#untilSeen(from);
    while (this.#waiting.size > 0) await this.#applyWaiting();
    await this.#raise(from + 1);
    const objects = await this.#compare();
    const { revision: to } = await this.#target.status();
    if (to <= from) throw new Error(`the new store is at revision ${to}, the old one at ${from}`);
    await this.#target.compact(to);
    return { objects, from, to };
  }

  /** Ends it. `undo`: the source stays, and the target is left as empty as it was. */
  async end({ undo }: { readonly undo: boolean }): Promise<void> {
    this.#watch?.stop();
    if (!undo) return;
    await this.#writing;
    await this.#source.delete({ key: MARK });
    if (!this.#isTargetOurs) return;
    const keys: string[] = [];
    await scanStore(this.#target, RANGE, ({ entries }) => {
      for (const { key } of entries) keys.push(key);
    });
    for (const key of keys) await this.#target.delete({ key });
  }

  #follow(afterRevision: number): void {
    this.#seen = afterRevision;
    this.#watch = this.#source.watch(
      { ...RANGE, afterRevision },
      {
        onEvents: (events, revision) => {
          for (const event of events) if (isCopied(event)) this.#waiting.set(event.key, event);
          this.#wake(revision);
        },
        onProgress: (revision) => this.#wake(revision),
        onError: (error) => this.#failure.reject(error),
      },
    );
  }

  #wake(revision: number): void {
    this.#seen = revision;
    for (const wake of this.#wakers.splice(0)) wake();
  }

  async #untilSeen(revision: number): Promise<void> {
    while (this.#seen < revision)
      await Promise.race([new Promise<void>((resolve) => this.#wakers.push(resolve)), this.#failure.promise]);
  }

  async #applyWaiting(): Promise<void> {
    const events = this.#waiting;
    this.#waiting = new Map();
    // Many changes of one key are one write of the target, which would fall behind.
    await this.#raise(this.#seen);
    await this.#each([...events.values()], async ({ key, value }) => {
      if (value === undefined) await this.#target.delete({ key });
      else await this.#put(key, value);
    });
  }

  async #put(key: string, value: Uint8Array): Promise<void> {
    const isEvent = EVENTS.some((prefix) => key.startsWith(prefix));
    await this.#target.put(isEvent ? { key, value, ttlSeconds: this.#context.eventTtlSeconds } : { key, value });
  }

  /** Counts the target's revision up to this one. */
  async #raise(revision: number): Promise<void> {
    const { report } = this.#context;
    let { revision: now } = await this.#target.status();
    if (now >= revision) return;
    if (revision - now > MAX_RAISE)
      throw new PreflightError(`the new store is at revision ${now}, the old one at ${revision}: too far to count up`);
    report(`the new store counts up from revision ${now} to ${revision}`);
    const value = Buffer.from('0');
    while (now < revision) {
      const count = Math.min(RAISE_STEP, revision - now);
      const writes = Array.from({ length: count }, (_, index) => index);
      await this.#each(writes, (index) => this.#target.put({ key: `${RAISING}${index % LANES}`, value }));
      ({ revision: now } = await this.#target.status());
      await this.#target.compact(now);
    }
    await this.#each([...Array(LANES).keys()], (lane) => this.#target.delete({ key: `${RAISING}${lane}` }));
  }

  /** In lanes, which stop at the first failure. */
  async #each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
    let next = 0;
    const stop = (): void => {
      next = items.length;
    };
    this.#failure.promise.catch(stop);
    const lane = async (): Promise<void> => {
      while (next < items.length) {
        this.#context.signal.throwIfAborted();
        await work(items[next++]!);
      }
    };
    const lanes = Array.from({ length: LANES }, () =>
      lane().catch((error: unknown) => {
        stop();
        throw error;
      }),
    );
    this.#writing = Promise.allSettled(lanes);
    await Promise.race([Promise.all(lanes), this.#failure.promise]);
  }

  async #compare(): Promise<number> {
    const there = new Map<string, Uint8Array>();
    await scanStore(this.#target, RANGE, ({ entries }) => {
      for (const { key, value } of entries) there.set(key, value);
    });
    let count = 0;
    const missing: string[] = [];
    await scanStore(this.#source, RANGE, ({ entries }) => {
      for (const entry of entries.filter(isCopied)) {
        const copy = there.get(entry.key);
        if (copy === undefined || Buffer.compare(copy, entry.value) !== 0) missing.push(entry.key);
        there.delete(entry.key);
        count++;
      }
    });
    const wrong = [...missing, ...there.keys()].filter((key) => !isExpiring(key));
    if (wrong.length > 0) throw new Error(`the copy differs in ${wrong.length} keys, such as ${wrong[0]}`);
    return count;
  }
}

function isCopied({ key }: { readonly key: string }): boolean {
  return !key.startsWith(MASTER_LEASES) && !key.startsWith(OWN_KEYS);
}

/** Events go by themselves, in each store at its own time. */
function isExpiring(key: string): boolean {
  return EVENTS.some((prefix) => key.startsWith(prefix));
}
