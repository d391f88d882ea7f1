/** What the language's sets lack. Upstream: k8s.io/apimachinery/pkg/util/sets. */

/** Members in byte-wise order of their UTF-16 code units. */
export function sorted(set: Iterable<string>): string[] {
  return [...set].sort();
}

/** A map from key to a set of values that makes and drops the sets by itself. */
export class MultiMap<K, V> {
  readonly #sets = new Map<K, Set<V>>();

  add(key: K, value: V): void {
    const set = this.#sets.get(key);
    if (set === undefined) this.#sets.set(key, new Set([value]));
    else set.add(value);
  }

  /** True when it was there. */
  delete(key: K, value: V): boolean {
    const set = this.#sets.get(key);
    if (set === undefined || !set.delete(value)) return false;
    if (set.size === 0) this.#sets.delete(key);
    return true;
  }

  /** The values of a key; do not keep it across changes. */
  get(key: K): ReadonlySet<V> {
    return this.#sets.get(key) ?? (emptySet as ReadonlySet<V>);
  }

  has(key: K): boolean {
    return this.#sets.has(key);
  }

  keys(): IterableIterator<K> {
    return this.#sets.keys();
  }

  /** Number of keys. */
  get size(): number {
    return this.#sets.size;
  }
}

const emptySet: ReadonlySet<unknown> = new Set();
