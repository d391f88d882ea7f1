/**
 * The timers of a virtual clock, the next one first; those due at one instant in the order in which they were set. A
 * cancelled timer stays where it is until it comes up or too many of its kind lie about: most timers are limits that are
 * cancelled long before they are due, so cancelling costs nothing. Invariant: the first timer is never a cancelled one.
 */

export interface HeapTimer {
  id: number;
  dueMs: number;
  /** Forgotten when it is cancelled: it holds what the timer was for. */
  run: () => void;
  /** A ticker's period. Zero: the timer fires once. */
  readonly periodMs: number;
  /** Waits to come up; false once it was taken or cancelled. */
  pending: boolean;
}

/** Cancelled timers are swept out when they are this many and half of all. */
const SWEEP_FROM = 64;

const nothing = (): void => undefined;

/** A binary heap by due time and number. */
export class TimerHeap {
  #timers: HeapTimer[] = [];
  #cancelled = 0;

  /** Timers that wait. */
  get size(): number {
    return this.#timers.length - this.#cancelled;
  }

  /** The next to come up. */
  peek(): HeapTimer | undefined {
    return this.#timers[0];
  }

  add(timer: HeapTimer): void {
    this.#timers.push(timer);
    this.#up(this.#timers.length - 1);
  }

  /** Adds a timer that was taken, under another number and time. */
  addAgain(timer: HeapTimer, next: Pick<HeapTimer, 'id' | 'dueMs'>): void {
    timer.id = next.id;
    timer.dueMs = next.dueMs;
    timer.pending = true;
    this.add(timer);
  }

  /** Takes the next one out. */
  pop(): HeapTimer | undefined {
    const first = this.#takeFirst();
    if (first === undefined) return undefined;
    first.pending = false;
    this.#dropCancelled();
    return first;
  }

  /** False when it has come up or was cancelled before. */
  cancel(timer: HeapTimer): boolean {
    if (!timer.pending) return false;
    timer.pending = false;
    timer.run = nothing;
    this.#cancelled++;
    if (this.#timers[0] === timer) this.#dropCancelled();
    else if (this.#cancelled >= SWEEP_FROM && this.#cancelled * 2 > this.#timers.length) this.#sweep();
    return true;
  }

  #dropCancelled(): void {
    while (this.#timers.length > 0 && !this.#timers[0]!.pending) {
      this.#takeFirst();
      this.#cancelled--;
    }
  }

  #sweep(): void {
    this.#timers = this.#timers.filter(({ pending }) => pending);
    this.#cancelled = 0;
    for (let at = (this.#timers.length >> 1) - 1; at >= 0; at--) this.#down(at);
  }

  #takeFirst(): HeapTimer | undefined {
    const timers = this.#timers;
    const first = timers[0];
    const last = timers.pop();
    if (last !== first && last !== undefined) {
      timers[0] = last;
      this.#down(0);
    }
    return first;
  }

  #up(from: number): void {
    const timers = this.#timers;
    const timer = timers[from]!;
    let at = from;
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = timers[parentAt]!;
      if (!isBefore(timer, parent)) break;
      timers[at] = parent;
      at = parentAt;
    }
    timers[at] = timer;
  }

  #down(from: number): void {
    const timers = this.#timers;
    const timer = timers[from]!;
    let at = from;
    for (;;) {
      let childAt = at * 2 + 1;
      if (childAt >= timers.length) break;
      if (childAt + 1 < timers.length && isBefore(timers[childAt + 1]!, timers[childAt]!)) childAt++;
      if (!isBefore(timers[childAt]!, timer)) break;
      timers[at] = timers[childAt]!;
      at = childAt;
    }
    timers[at] = timer;
  }
}

function isBefore(a: HeapTimer, b: HeapTimer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.id < b.id);
}
