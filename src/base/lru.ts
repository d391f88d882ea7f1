/**
 * A map that holds the most recently used entries and drops the rest. By hand rather than by lru-cache: none of its
 * options is needed, and `base/` has no dependency.
 */

/** Least-recently-used cache of at most `capacity` entries. */
export class Lru<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #capacity: number;
  readonly #onEvict: ((key: K, value: V) => void) | undefined;
  /** The most recently used. */
  #newest: K | undefined;

  /** `onEvict` is called for entries dropped because the map is full, not for those deleted or replaced. */
  constructor(capacity: number, onEvict?: (key: K, value: V) => void) {
    if (!(capacity >= 1)) throw new RangeError(`LRU capacity must be at least 1, got ${capacity}`);
    this.#capacity = capacity;
    this.#onEvict = onEvict;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value, which becomes the most recently used. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (key === this.#newest || (value === undefined && !this.#entries.has(key))) return value;
    this.#entries.delete(key);
    this.#entries.set(key, value as V);
    this.#newest = key;
    return value;
  }

  /** The value, without touching its age. */
  peek(key: K): V | undefined {
    return this.#entries.get(key);
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#newest = key;
    if (this.#entries.size <= this.#capacity) return;
    const [oldestKey, oldest] = this.#entries.entries().next().value!;
    this.#entries.delete(oldestKey);
    this.#onEvict?.(oldestKey, oldest);
  }

  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  /** From the oldest to the most recently used. */
  keys(): Iterable<K> {
    return this.#entries.keys();
  }

  clear(): void {
    this.#entries.clear();
  }
}
