/**
 * Slots: the rules choose a number, a map says which endpoint has it. A change of endpoints must touch few slots, and with
 * session affinity a client keeps its slot, so that slots of endpoints that stay never move. Pure.
 */

/** Slots 0..n-1 without gaps or duplicates: what stays keeps its place where it can, the last fill holes. */
export function packedSlots(previous: readonly string[], wanted: readonly string[]): readonly string[] {
  const count = wanted.length;
  const rest = new Set(wanted);
  const slots: (string | undefined)[] = Array.from({ length: count }, () => undefined);
  for (let i = 0; i < Math.min(count, previous.length); i++) {
    const endpoint = previous[i] as string;
    if (rest.delete(endpoint)) slots[i] = endpoint;
  }
  const queue = rest.values();
  return slots.map((slot) => slot ?? (queue.next().value as string));
}

/**
 * Slots of a service with session affinity: their number never shrinks while there are endpoints. The slot of an endpoint
 * that went is given to another one, and a new endpoint takes such duplicates first.
 */
export function stickySlots(previous: readonly string[], wanted: readonly string[]): readonly string[] {
  if (wanted.length === 0) return [];
  const left = new Set(wanted);
  const load = new Map(wanted.map((endpoint) => [endpoint, 0]));
  const count = Math.max(previous.length, wanted.length);
  const slots: (string | undefined)[] = Array.from({ length: count }, () => undefined);
  for (const [i, endpoint] of previous.entries()) {
    // The first slot of an endpoint is its own; further ones are spare and may be taken away below.
    if (left.delete(endpoint)) {
      slots[i] = endpoint;
      load.set(endpoint, 1);
    }
  }
  for (let i = 0; i < count && left.size > 0; i++) {
    if (slots[i] !== undefined) continue;
    const [newcomer] = left;
    left.delete(newcomer as string);
    slots[i] = newcomer;
    load.set(newcomer as string, 1);
  }
  return fillSpare(slots, { previous, load });
}

/** Spare slots stay with the endpoint that has them while that is fair, else go to the one with the fewest. */
function fillSpare(slots: readonly (string | undefined)[], state: { previous: readonly string[]; load: Map<string, number> }): readonly string[] {
  const { previous, load } = state;
  const fair = Math.ceil(slots.length / load.size);
  return slots.map((slot, i) => {
    if (slot !== undefined) return slot;
    const before = previous[i];
    const keeps = before !== undefined && load.has(before) && (load.get(before) as number) < fair;
    const chosen = keeps ? before : [...load].reduce((least, entry) => (entry[1] < least[1] ? entry : least))[0];
    load.set(chosen, (load.get(chosen) as number) + 1);
    return chosen;
  });
}
