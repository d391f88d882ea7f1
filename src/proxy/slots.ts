/**
 * Slots: rules choose a number, and a map has its endpoint. Few slots should change with the endpoints, and with
 * session affinity a client keeps its slot, so slots of remaining endpoints do not move. Pure.
 */

import { Heap } from '../base/heap.ts';

/** The endpoint of one number. */
export interface Slot {
  readonly endpoint: string;
  /** Its own endpoint is gone: another one serves the slot until a new endpoint takes it. */
  readonly spare: boolean;
}

/**
 * Slots 0..n-1 without gaps or duplicates: remaining endpoints keep their slot if possible, the last ones fill gaps.
 */
export function packedSlots(previous: readonly Slot[], wanted: readonly string[]): readonly Slot[] {
  const rest = new Set(wanted);
  const kept = Array.from({ length: rest.size }, (_, i) => {
    const before = previous[i];
    return before !== undefined && rest.delete(before.endpoint) ? before.endpoint : undefined;
  });
  const queue = rest.values();
  return kept.map((endpoint) => ({ endpoint: endpoint ?? (queue.next().value as string), spare: false }));
}

/**
 * Slots with session affinity: their number does not shrink while there are endpoints. The slot of a removed endpoint
 * is served by another one, and new endpoints take such slots first.
 */
export function stickySlots(previous: readonly Slot[], wanted: readonly string[]): readonly Slot[] {
  if (wanted.length === 0) return [];
  const left = new Set(wanted);
  const load = new Map(wanted.map((endpoint) => [endpoint, 0]));
  const give = (endpoint: string): Slot => {
    left.delete(endpoint);
    load.set(endpoint, (load.get(endpoint) as number) + 1);
    return { endpoint, spare: false };
  };
  const slots: (Slot | undefined)[] = Array.from({ length: Math.max(previous.length, left.size) }, (_, i) => {
    const before = previous[i];
    return before !== undefined && !before.spare && left.has(before.endpoint) ? give(before.endpoint) : undefined;
  });
  const newcomers = left.values();
  for (const [i, slot] of slots.entries()) {
    if (slot !== undefined) continue;
    const { value } = newcomers.next();
    if (value === undefined) break;
    slots[i] = give(value);
  }
  return lendSpare(slots, { previous, load });
}

/**
 * Keeps a spare slot's endpoint while the distribution is even; otherwise the endpoint with the fewest slots serves
 * it.
 */
function lendSpare(
  slots: readonly (Slot | undefined)[],
  { previous, load }: { previous: readonly Slot[]; load: Map<string, number> },
): readonly Slot[] {
  const fair = Math.ceil(slots.length / load.size);
  const byLoad = new Heap<string>(
    (endpoint) => endpoint,
    (a, b) => load.get(a)! < load.get(b)!,
  );
  for (const endpoint of load.keys()) byLoad.set(endpoint);
  return slots.map((slot, i) => {
    if (slot !== undefined) return slot;
    const before = previous[i]?.endpoint;
    const keeps = before !== undefined && (load.get(before) ?? fair) < fair;
    const endpoint = keeps ? before : byLoad.peek()!;
    load.set(endpoint, load.get(endpoint)! + 1);
    byLoad.set(endpoint);
    return { endpoint, spare: true };
  });
}
