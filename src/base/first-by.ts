/**
 * Lists as maps by key: looking up every item of one client's list in another must not cost the product of their
 * lengths.
 */

/** The first item of each key. */
export function firstBy<T, K>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, T> {
  const first = new Map<K, T>();
  for (const item of items) {
    const key = keyOf(item);
    if (!first.has(key)) first.set(key, item);
  }
  return first;
}

/** The first item of each name. */
export function firstByName<T extends { readonly name: string }>(items: readonly T[] = []): ReadonlyMap<string, T> {
  return firstBy(items, ({ name }) => name);
}
