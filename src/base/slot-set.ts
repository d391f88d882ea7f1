/**
 * A set whose members change all the time. A `Set` allocates a new table every few members and links the old one to
 * it, with its former members: once one table is in V8's old generation, every later one is promoted with what it
 * held.
 */
export class SlotSet<T extends object> {
  readonly #members: (T | undefined)[] = [];
  /** When the member of each slot was added: higher is later. */
  readonly #turns: number[] = [];
  readonly #free: number[] = [];
  #nextTurn = 0;

  /** Returns its slot, by which it is removed. */
  add(member: T): number {
    const slot = this.#free.pop() ?? this.#members.length;
    this.#members[slot] = member;
    this.#turns[slot] = this.#nextTurn++;
    return slot;
  }

  /** Call once for each slot that `add` returned. */
  remove(slot: number): void {
    this.#members[slot] = undefined;
    this.#free.push(slot);
  }

  /** The members in the order of their addition. */
  inOrder(): T[] {
    const slots = [...this.#members.keys()].filter((slot) => this.#members[slot] !== undefined);
    return slots.sort((a, b) => this.#turns[a]! - this.#turns[b]!).map((slot) => this.#members[slot]!);
  }
}
