/**
 * Gives each node a small number, its slot, and records which slots have changed. Results about nodes are kept in
 * typed arrays by slot, and only those of changed nodes are computed again. A slot is reused; its generation rises at
 * every change of its node and when it passes to another node.
 */

/** The number of changes kept; a reader that is further behind reads all nodes. */
const LOG_LENGTH = 4096;

/** The tracker of one cache. */
export class NodeTracker<T> {
  /** By slot. Replaced when it grows: read it again after calls that may add nodes. */
  generations = new Uint32Array(64);
  /** By slot; undefined: free. */
  readonly infos: (T | undefined)[] = [];
  /** The number of changes so far. */
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

  /** Records a change of a slot's node. */
  touch(slot: number): void {
    this.generations[slot] = (this.generations[slot] ?? 0) + 1;
    this.#log[this.sequence % LOG_LENGTH] = slot;
    this.sequence++;
  }

  /**
   * Calls back with the slots that changed since `sequence`, some perhaps twice. Returns false when the log does not
   * reach back that far.
   */
  changesSince(sequence: number, visit: (slot: number) => void): boolean {
    if (this.sequence - sequence > LOG_LENGTH) return false;
    for (let at = sequence; at < this.sequence; at++) visit(this.#log[at % LOG_LENGTH] as number);
    return true;
  }
}

/** A copy of the array with one element for each slot. */
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
