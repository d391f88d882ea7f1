// The order of a merged list: elements of the patch in the patch's order, others as in the live list. Upstream:
// normalizeElementOrder and mergeSortedSlice in strategicpatch.

/** Inputs of {@link normalizeOrder}. */
export interface OrderInputs {
  /** The elements of `$setElementOrder`, in order. */
  readonly order: readonly unknown[];
  /** The live list. */
  readonly server: readonly unknown[];
  /** Identity of an element. */
  readonly keyOf: (item: unknown) => string;
}

interface PlacedItem {
  readonly item: unknown;
  /** The index in `$setElementOrder`, and in the live list. */
  readonly wanted: number | undefined;
  readonly live: number | undefined;
}

/** The merged list in its final order. */
export function normalizeOrder(merged: readonly unknown[], { order, server, keyOf }: OrderInputs): unknown[] {
  const wanted = positions(order, keyOf);
  const live = positions(server, keyOf);
  const named: PlacedItem[] = [];
  const others: PlacedItem[] = [];
  for (const item of merged) {
    const key = keyOf(item);
    const placed = { item, wanted: wanted.get(key), live: live.get(key) };
    (placed.wanted === undefined ? others : named).push(placed);
  }
  named.sort((a, b) => (a.wanted ?? 0) - (b.wanted ?? 0));
  return interleave(sortByLive(others), named);
}

/** Go's stable sort uses insertion sort for up to this many elements. */
const INSERTED = 20;

/**
 * Sorts by the order of the live list. Upstream's comparison puts elements that the live list lacks before every other, so their
 * final place depends on Go's sort: in long lists they end up in front, in reverse order.
 */
function sortByLive(items: readonly PlacedItem[]): readonly PlacedItem[] {
  const unknown = items.filter(({ live }) => live === undefined);
  const known = (): readonly PlacedItem[] =>
    items.filter(({ live }) => live !== undefined).toSorted((a, b) => a.live! - b.live!);
  if (unknown.length === 0) return known();
  if (items.length > INSERTED) return [...unknown.toReversed(), ...known()];
  const sorted: PlacedItem[] = [];
  for (const item of items) {
    let at = sorted.length;
    while (at > 0 && comesBefore(item, sorted[at - 1]!)) at--;
    sorted.splice(at, 0, item);
  }
  return sorted;
}

function comesBefore(a: PlacedItem, b: PlacedItem): boolean {
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

/**
 * Merges two lists and keeps the order of each. An element of `left` comes first only when it precedes the other in the live
 * list.
 */
function interleave(left: readonly PlacedItem[], right: readonly PlacedItem[]): unknown[] {
  const out: unknown[] = [];
  let i = 0;
  for (const { item, live } of right) {
    while (i < left.length && live !== undefined && (left[i]!.live ?? Infinity) < live) out.push(left[i++]!.item);
    out.push(item);
  }
  for (; i < left.length; i++) out.push(left[i]!.item);
  return out;
}
