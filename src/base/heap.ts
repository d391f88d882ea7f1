/**
 * A binary min-heap with an index by key: any item can be updated or removed in O(log n). Items of equal order leave in
 * the order they came in, so that runs repeat. Upstream: client-go/tools/cache.Heap, scheduler/backend/heap.
 * By hand rather than by a heap of npm: those have no index by key and no stable order.
 */

interface Slot<T> {
  readonly key: string;
  item: T;
  readonly sequence: number;
  position: number;
}

/** A keyed priority queue; `less` says whether `a` leaves before `b`. */
export class Heap<T> {
  readonly #slots: Slot<T>[] = [];
  readonly #byKey = new Map<string, Slot<T>>();
  readonly #keyOf: (item: T) => string;
  readonly #less: (a: T, b: T) => boolean;
  #sequence = 0;

  constructor(keyOf: (item: T) => string, less: (a: T, b: T) => boolean) {
    this.#keyOf = keyOf;
    this.#less = less;
  }

  get size(): number {
    return this.#slots.length;
  }

  /** Adds the item, or replaces the one with its key and restores the order. */
  set(item: T): void {
    const key = this.#keyOf(item);
    const existing = this.#byKey.get(key);
    if (existing !== undefined) {
      existing.item = item;
      this.#up(existing.position);
      this.#down(existing.position);
      return;
    }
    const slot: Slot<T> = { key, item, sequence: this.#sequence++, position: this.#slots.length };
    this.#byKey.set(key, slot);
    this.#slots.push(slot);
    this.#up(slot.position);
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  get(key: string): T | undefined {
    return this.#byKey.get(key)?.item;
  }

  /** Removes and returns the item with this key, if there is one. */
  remove(key: string): T | undefined {
    const slot = this.#byKey.get(key);
    if (slot === undefined) return undefined;
    this.#removeAt(slot.position);
    return slot.item;
  }

  /** The item that leaves next. */
  peek(): T | undefined {
    return this.#slots[0]?.item;
  }

  /** Removes and returns the item that leaves next. */
  pop(): T | undefined {
    const first = this.#slots[0];
    if (first === undefined) return undefined;
    this.#removeAt(0);
    return first.item;
  }

  /** All items, in no particular order. */
  *values(): IterableIterator<T> {
    for (const slot of this.#slots) yield slot.item;
  }

  clear(): void {
    this.#slots.length = 0;
    this.#byKey.clear();
  }

  #removeAt(position: number): void {
    const slot = this.#slots[position]!;
    const last = this.#slots.pop()!;
    this.#byKey.delete(slot.key);
    if (last === slot) return;
    this.#slots[position] = last;
    last.position = position;
    this.#up(position);
    this.#down(last.position);
  }

  #before(a: Slot<T>, b: Slot<T>): boolean {
    if (this.#less(a.item, b.item)) return true;
    if (this.#less(b.item, a.item)) return false;
    return a.sequence < b.sequence;
  }

  #up(position: number): void {
    let at = position;
    const slot = this.#slots[at]!;
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = this.#slots[parentAt]!;
      if (!this.#before(slot, parent)) break;
      this.#slots[at] = parent;
      parent.position = at;
      at = parentAt;
    }
    this.#slots[at] = slot;
    slot.position = at;
  }

  #down(position: number): void {
    let at = position;
    const slot = this.#slots[at]!;
    for (;;) {
      const left = at * 2 + 1;
      if (left >= this.#slots.length) break;
      const right = left + 1;
      const smaller =
        right < this.#slots.length && this.#before(this.#slots[right]!, this.#slots[left]!) ? right : left;
      const child = this.#slots[smaller]!;
      if (!this.#before(child, slot)) break;
      this.#slots[at] = child;
      child.position = at;
      at = smaller;
    }
    this.#slots[at] = slot;
    slot.position = at;
  }
}
