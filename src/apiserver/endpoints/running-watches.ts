/** The watches that are open: when each times out, when bookmarks are sent, and how all are ended. */
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { background } from '../../platform/unexpected.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import { FlushRounds } from '../watch-cache/flush-rounds.ts';
import type { Watcher } from '../watch-cache/watcher.ts';
import { WatchQuota } from './watch-quota.ts';

/** As upstream: a watch lasts 30 to 60 minutes unless the client asks for another time. */
const DEFAULT_MIN_TIMEOUT_MS = 1_800_000;

const BOOKMARK_PERIOD_MS = 60_000;

/** Watchers inside the process need bookmarks only when changes are dropped: they are checked this many times less often. */
const INSIDE_BOOKMARK_BEATS = 4;

/** Bookmarks written between two turns of other work. */
const BOOKMARKS_AT_ONCE = 500;

/**
 * The open watches: they end when the server stops, and one timer sends their bookmarks. A node has half a dozen watches; a
 * timer for each would wake a large server all the time.
 */
export class RunningWatches {
  readonly #running = new Map<Watcher<never>, GenericStore>();
  /** Watches that are checked at every beat. Those inside this process, which are many more, are not. */
  readonly #eager = new Map<Watcher<never>, GenericStore>();
  readonly #clock: Clock;
  readonly #log: Log;
  /** Counts network watches of users. */
  readonly quota = new WatchQuota();
  /** Schedules the writes of network watches. */
  readonly rounds: FlushRounds;
  #cancelBeat: (() => void) | undefined;
  #beats = 0;

  /** Shortest time of a watch without a timeout of its own. */
  readonly minTimeoutMs: number;

  constructor({ clock, log }: Pick<BasePlatform, 'clock' | 'log'>, minTimeoutMs = DEFAULT_MIN_TIMEOUT_MS) {
    this.#clock = clock;
    this.#log = log;
    this.minTimeoutMs = minTimeoutMs;
    this.rounds = new FlushRounds(clock, log);
  }

  get size(): number {
    return this.#running.size;
  }

  add(watcher: Watcher<never>, store: GenericStore): void {
    this.#running.set(watcher, store);
    if (!watcher.sparesBookmarks) this.#eager.set(watcher, store);
    this.#cancelBeat ??= this.#clock.setTicker(BOOKMARK_PERIOD_MS, () => {
      background(this.#log, 'bookmarks could not be sent', this.#bookmarkAll());
    });
  }

  delete(watcher: Watcher<never>): void {
    this.#running.delete(watcher);
    this.#eager.delete(watcher);
    if (this.#running.size > 0) return;
    this.#cancelBeat?.();
    this.#cancelBeat = undefined;
  }

  /** Ends the watches of one resource, or all. */
  endAll(only?: GenericStore): void {
    for (const [watcher, store] of this.#running) if (only === undefined || only === store) watcher.end();
  }

  async #bookmarkAll(): Promise<void> {
    const isForAll = ++this.#beats % INSIDE_BOOKMARK_BEATS === 0;
    let count = 0;
    for (const [watcher, { services, cache }] of [...(isForAll ? this.#running : this.#eager)]) {
      watcher.bookmark(services.hub.revision, cache.rememberedSince);
      if (++count % BOOKMARKS_AT_ONCE === 0) await this.#clock.yield();
    }
  }
}
