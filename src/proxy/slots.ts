/**
 * Slots: the rules choose a number, a map says which endpoint has it. A change of endpoints must touch few slots, and with
 * session affinity a client keeps its slot, so that slots of endpoints that stay never move. Pure.
 */

import { Heap } from '../base/heap.ts';

/** What one number stands for. */
export interface Slot {
  readonly endpoint: string;
  /** Lent: its endpoint is gone and another one fills the slot until a new endpoint takes it. */
  readonly spare: boolean;
}

/** Slots 0..n-1 without gaps or duplicates: what stays keeps its place where it can, the last fill holes. */
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
 * Slots of a service with session affinity: their number never shrinks while there are endpoints. The slot of an endpoint
 * that went is lent to another one, and a new endpoint takes such slots first.
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

/** Spare slots stay with who has them while that is fair, else go to the endpoint with the fewest. */
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
