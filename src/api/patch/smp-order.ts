// The order of a merged list: elements the patch names in the patch's order, the others where the live list had them.
// Upstream: normalizeElementOrder and mergeSortedSlice in strategicpatch.

/** Inputs of {@link normalizeOrder}. */
export interface OrderInputs {
  /** Elements in the order the patch wants. */
  readonly order: readonly unknown[];
  /** The live list. */
  readonly server: readonly unknown[];
  /** Identity of an element. */
  readonly keyOf: (item: unknown) => string;
}

/** The merged list in its final order. */
export function normalizeOrder(merged: readonly unknown[], { order, server, keyOf }: OrderInputs): unknown[] {
  const wanted = positions(order, keyOf);
  const live = positions(server, keyOf);
  const named = merged.filter((item) => wanted.has(keyOf(item)));
  const others = merged.filter((item) => !wanted.has(keyOf(item)));
  named.sort((a, b) => (wanted.get(keyOf(a)) ?? 0) - (wanted.get(keyOf(b)) ?? 0));
  others.sort((a, b) => (live.get(keyOf(a)) ?? live.size) - (live.get(keyOf(b)) ?? live.size));
  return interleave(others, named, (item) => live.get(keyOf(item)));
}

function positions(items: readonly unknown[], keyOf: (item: unknown) => string): Map<string, number> {
  const out = new Map<string, number>();
  for (const item of items) if (!out.has(keyOf(item))) out.set(keyOf(item), out.size);
  return out;
}

/** Merges two lists keeping the order of each; `left` comes first only where the live list says so. */
function interleave(
  left: readonly unknown[],
  right: readonly unknown[],
  at: (item: unknown) => number | undefined,
): unknown[] {
  const out: unknown[] = [];
  let i = 0;
  for (const item of right) {
    const place = at(item);
    while (i < left.length && place !== undefined && (at(left[i]) ?? Infinity) < place) out.push(left[i++]);
    out.push(item);
  }
  return [...out, ...left.slice(i)];
}

/** Whether the items are in the order wanted, with none that the order lacks. */
export function followsOrder(
  items: readonly unknown[],
  order: readonly unknown[],
  keyOf: (item: unknown) => string,
): boolean {
  const wanted = positions(order, keyOf);
  let last = -1;
  return items.every((item) => {
    const at = wanted.get(keyOf(item)) ?? -1;
    const ok = at > last;
    last = at;
    return ok;
  });
}
