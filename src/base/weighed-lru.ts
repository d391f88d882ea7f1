/** A cache bounded by the weight of what it holds, for entries whose size others choose. */
import { Lru } from './lru.ts';

/** A heavier entry would evict too many others and is not kept. */
const LARGEST_SHARE = 1 / 64;

/** Least-recently-used cache of at most `capacity` entries and `maxWeight` in all. */
export class WeighedLru<K, V> {
  readonly #entries: Lru<K, { readonly value: V; readonly weight: number }>;
  readonly #maxWeight: number;
  #weight = 0;

  constructor(capacity: number, maxWeight: number) {
    this.#maxWeight = maxWeight;
    this.#entries = new Lru(capacity, (_, { weight }) => (this.#weight -= weight));
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The weight of all entries. */
  get weight(): number {
    return this.#weight;
  }

  /** The value, which becomes the most recently used. */
  get(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: K, value: V, weight: number): void {
    this.delete(key);
    if (weight > this.#maxWeight * LARGEST_SHARE) return;
    this.#weight += weight;
    this.#entries.set(key, { value, weight });
    while (this.#weight > this.#maxWeight) this.#dropOldest();
  }

  delete(key: K): void {
    const entry = this.#entries.peek(key);
    if (entry === undefined) return;
    this.#weight -= entry.weight;
    this.#entries.delete(key);
  }

  #dropOldest(): void {
    const [oldest] = this.#entries.keys();
    this.delete(oldest!);
  }
}
