/** Limits the memory of all caches' kept changes: the largest caches drop their oldest changes first. */
import type { WatchCache } from './watch-cache.ts';

/** The limit of all rings together, as each ring counts it. */
const MAX_BYTES = 256 * 1024 * 1024;
/** The sum is checked each time this many bytes were added. */
const CHECK_BYTES = 8 * 1024 * 1024;

export class RememberedBytes {
  readonly #caches: ReadonlyMap<string, WatchCache>;
  #unseen = 0;

  constructor(caches: ReadonlyMap<string, WatchCache>) {
    this.#caches = caches;
  }

  /** Call for each change that was added. */
  add(bytes: number): void {
    this.#unseen += bytes;
    if (this.#unseen < CHECK_BYTES) return;
    this.#unseen = 0;
    const caches = [...this.#caches.values()].sort((a, b) => b.rememberedBytes - a.rememberedBytes);
    let excess = caches.reduce((sum, cache) => sum + cache.rememberedBytes, 0) - MAX_BYTES;
    for (const cache of caches) {
      if (excess <= 0) return;
      const before = cache.rememberedBytes;
      cache.forgetBytes(excess);
      excess -= before - cache.rememberedBytes;
    }
  }
}
