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
  return interleave(sortByLive(others), named);
}

/** Up to this many elements Go's stable sort inserts one after another. */
const INSERTED = 20;

/**
 * In the order of the live list. Upstream's comparison says of elements that the live list lacks that each comes before
 * every other, so where they end depends on how Go sorts; of long lists they go to the front, the last first.
 */
function sortByLive(items: readonly Placed[]): readonly Placed[] {
  const unknown = items.filter(({ live }) => live === undefined);
  const known = (): readonly Placed[] =>
    items.filter(({ live }) => live !== undefined).toSorted((a, b) => a.live! - b.live!);
  if (unknown.length === 0) return known();
  if (items.length > INSERTED) return [...unknown.toReversed(), ...known()];
  const sorted: Placed[] = [];
  for (const item of items) {
    let at = sorted.length;
    while (at > 0 && comesBefore(item, sorted[at - 1]!)) at--;
    sorted.splice(at, 0, item);
  }
  return sorted;
}

function comesBefore(a: Placed, b: Placed): boolean {
  return a.live === undefined || b.live === undefined || a.live < b.live;
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
