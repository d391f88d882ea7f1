/**
 * The newest row of each key, in memory: rebuilt from the rows when the file is opened. An index in the file would
 * make each write touch pages all over it, and halve the write rate.
 */
import { SortedKeys } from '../../base/sorted-keys.ts';
import { compareKeys } from '../key-order.ts';

export interface LiveKey {
  readonly revision: number;
  readonly created: number;
}

/** Changes of one batch: undefined means deleted. */
export type StagedKeys = ReadonlyMap<string, LiveKey | undefined>;

export class KeyIndex {
  readonly #live = new Map<string, LiveKey>();
  readonly #sorted = new SortedKeys(compareKeys);

  get size(): number {
    return this.#live.size;
  }

  get(key: string): LiveKey | undefined {
    return this.#live.get(key);
  }

  /** Records the newest row of a key, or its deletion. */
  set(key: string, live: LiveKey | undefined): void {
    if (live === undefined) {
      if (this.#live.delete(key)) this.#sorted.delete(key);
    } else {
      if (!this.#live.has(key)) this.#sorted.add(key);
      this.#live.set(key, live);
    }
  }

  /** Takes over a batch that was committed. */
  apply(staged: StagedKeys): void {
    for (const [key, live] of staged) this.set(key, live);
  }

  /** Keys in [start, end) in byte order. */
  range(start: string, end: string): Iterable<string> {
    return this.#sorted.range(start, end);
  }
}
