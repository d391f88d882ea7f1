/**
 * Reads of past revisions, which only the store has: in pages of about a megabyte, between which writes come first, a
 * few reads at a time, and without unneeded entries. Upstream: etcd's ranges, which do not block writes.
 */
import { tooManyRequests } from '../../api/status-error.ts';
import { onAbort } from '../../base/abort.ts';
import type { RangeRequest, Store, StoredEntry } from '../../storage/store.ts';

/** The most concurrent reads; others wait. */
const READS_AT_ONCE = 2;
/** The most waiting reads: their clients may have disconnected, and later ones should not wait for all of them. */
export const MAX_WAITING_READS = 100;
const FIRST_ENTRIES = 8;
const MOST_ENTRIES = 2_000;
const PAGE_BYTES = 1024 * 1024;
/** A page reads at most this many times as many entries as the page before. */
const GROWTH = 4;

export interface PastRange {
  readonly start: string;
  readonly end: string;
  readonly revision: number;
  /** The most entries to read; Infinity: all. */
  readonly most: number;
}

/** The request that needs a range. */
export interface PastReadCaller {
  /** Aborts when the client disconnects, which stops reading. */
  readonly signal: AbortSignal;
  /** Waits without the request's seat of priority and fairness. */
  waitFor<T>(waiting: Promise<T>): Promise<T>;
}

/** Some of the entries of a range. */
export interface PastPage {
  readonly entries: readonly StoredEntry[];
  /** The number of entries after these in the range. */
  readonly left: number;
}

/** The reads of one server. */
export class PastReads {
  readonly #store: Store;
  #waiting: (() => void)[] = [];
  #running = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The range sorted by key. Rejects like the store, with 429, and with the signal's reason. */
  async *pages({ start, end, revision, most }: PastRange, asker: PastReadCaller): AsyncGenerator<PastPage> {
    const entered = this.#enter(asker.signal);
    if (entered !== undefined) await asker.waitFor(entered);
    try {
      let request: RangeRequest & { readonly limit: number } = {
        start,
        end,
        revision,
        limit: Math.min(most, FIRST_ENTRIES),
      };
      for (let wanted = most; ;) {
        asker.signal.throwIfAborted();
        const { entries, count } = await this.#store.range(request);
        const left = count - entries.length;
        yield { entries, left };
        wanted -= entries.length;
        const last = entries.at(-1);
        if (left <= 0 || wanted <= 0 || last === undefined) return;
        request = { start: `${last.key}\0`, end, revision, limit: Math.min(wanted, nextEntries(entries)) };
      }
    } finally {
      this.#leave();
    }
  }

  /** Undefined when a read may start at once. */
  #enter(signal: AbortSignal): Promise<void> | undefined {
    if (this.#waiting.length >= MAX_WAITING_READS)
      throw tooManyRequests('too many lists of past revisions are waiting, please try again later', 1);
    signal.throwIfAborted();
    if (this.#running < READS_AT_ONCE) {
      this.#running++;
      return undefined;
    }
    return new Promise<void>((resolve, reject) => {
      const go = (): void => {
        unhook();
        resolve();
      };
      const unhook = onAbort(signal, () => {
        this.#waiting = this.#waiting.filter((other) => other !== go);
        reject(signal.reason as Error);
      });
      this.#waiting.push(go);
    });
  }

  /** Lets the longest-waiting request start. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}

function nextEntries(entries: readonly StoredEntry[]): number {
  const bytes = entries.reduce((sum, { value }) => sum + value.byteLength, 1);
  const fitting = Math.floor((PAGE_BYTES * entries.length) / bytes);
  return Math.max(1, Math.min(MOST_ENTRIES, GROWTH * entries.length, fitting));
}
