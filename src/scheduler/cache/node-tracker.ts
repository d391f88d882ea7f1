/**
 * Numbers nodes by small slots and remembers which changed, so that what was worked out about a node can be kept in typed
 * arrays and brought up to date by looking at the changed nodes alone. Slots are used again; a slot's generation rises at
 * every change of its node and whenever it passes to another node.
 */

/** Changes remembered; who lags further behind looks at all nodes. */
const LOG_LENGTH = 4096;

/** The tracker of one cache. */
export class NodeTracker<T> {
  /** By slot. Grows: do not keep a reference over calls that may add nodes. */
  generations = new Uint32Array(64);
  /** By slot; undefined: free. */
  readonly infos: (T | undefined)[] = [];
  /** Changes so far. */
  sequence = 0;
  readonly #free: number[] = [];
  readonly #log = new Uint32Array(LOG_LENGTH);

  /** Gives a node its slot. */
  add(info: T): number {
    const slot = this.#free.pop() ?? this.infos.length;
    if (slot >= this.generations.length) {
      const grown = new Uint32Array(this.generations.length * 2);
      grown.set(this.generations);
      this.generations = grown;
    }
    this.infos[slot] = info;
    this.touch(slot);
    return slot;
  }

  remove(slot: number): void {
    this.infos[slot] = undefined;
    this.touch(slot);
    this.#free.push(slot);
  }

  /** Notes a change of a slot's node. */
  touch(slot: number): void {
    this.generations[slot] = (this.generations[slot] ?? 0) + 1;
    this.#log[this.sequence % LOG_LENGTH] = slot;
    this.sequence++;
  }

  /** Calls back with the slots that changed since, some perhaps twice; false: too long ago, all may have. */
  changesSince(sequence: number, visit: (slot: number) => void): boolean {
    if (this.sequence - sequence > LOG_LENGTH) return false;
    for (let at = sequence; at < this.sequence; at++) visit(this.#log[at % LOG_LENGTH] as number);
    return true;
  }
}

/** An array with a place for each slot, keeping what it held. */
export function grownTo<T extends Uint32Array | Float64Array>(
  array: T,
  length: number,
  make: (length: number) => T,
): T {
  if (array.length >= length) return array;
  const grown = make(length);
  grown.set(array);
  return grown;
}
