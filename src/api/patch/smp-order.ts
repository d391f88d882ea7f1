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

interface Placed {
  readonly item: unknown;
  /** Position in the order the patch wants, and in the live list. */
  readonly wanted: number | undefined;
  readonly live: number | undefined;
}

/** The merged list in its final order. */
export function normalizeOrder(merged: readonly unknown[], { order, server, keyOf }: OrderInputs): unknown[] {
  const wanted = positions(order, keyOf);
  const live = positions(server, keyOf);
  const named: Placed[] = [];
  const others: Placed[] = [];
  for (const item of merged) {
    const key = keyOf(item);
    const placed = { item, wanted: wanted.get(key), live: live.get(key) };
    (placed.wanted === undefined ? others : named).push(placed);
  }
  named.sort((a, b) => (a.wanted ?? 0) - (b.wanted ?? 0));
  // What neither list has goes to the front, the last first: so upstream's comparison sorts it.
  const known = others.filter((item) => item.live !== undefined).toSorted((a, b) => a.live! - b.live!);
  const unknown = others.filter((item) => item.live === undefined);
  return interleave([...unknown.toReversed(), ...known], named);
}

function positions(items: readonly unknown[], keyOf: (item: unknown) => string): Map<string, number> {
  const out = new Map<string, number>();
  for (const item of items) {
    const key = keyOf(item);
    if (!out.has(key)) out.set(key, out.size);
  }
  return out;
}

/** Merges two lists keeping the order of each; `left` comes first only where the live list says so. */
function interleave(left: readonly Placed[], right: readonly Placed[]): unknown[] {
  const out: unknown[] = [];
  let i = 0;
  for (const { item, live } of right) {
    while (i < left.length && live !== undefined && (left[i]!.live ?? Infinity) < live) out.push(left[i++]!.item);
    out.push(item);
  }
  for (; i < left.length; i++) out.push(left[i]!.item);
  return out;
}

/** Whether the items are in the order wanted, with none that the order lacks. */
export function followsOrder(
  items: readonly unknown[],
  order: readonly unknown[],
  keyOf: (item: unknown) => string,
): boolean {
  let next = 0;
  for (const item of order) if (next < items.length && keyOf(items[next]) === keyOf(item)) next++;
  return next === items.length;
}
