/**
 * Pods in back-off. Rejected ones may be tried early when no other pod is active; those whose attempt ended with an
 * error wait until the end. Upstream: podBackoffQ, podErrorBackoffQ and flushBackoffQCompleted in
 * scheduler/backend/queue.
 */
import { Heap } from '../../base/heap.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import { smallest } from '../../base/lists.ts';

export interface BackoffEntry {
  readonly pod: Stored<Pod>;
  /** The rejecting plugins; empty after an error. Constant while the entry is here. */
  readonly rejectedBy: ReadonlySet<string>;
  /** Monotonic time. Constant while the entry is here. */
  readonly backoffEndsMs: number;
}

export interface BackoffDeps<E> {
  readonly clock: Clock;
  /** Orders rejected pods whose back-off ends at the same time. */
  readonly less: (a: E, b: E) => number;
  /** Called with each entry whose back-off has ended, after its removal. */
  readonly onCompleted: (entry: E) => void;
}

/** At most one entry for each uid. A single timer runs, for the back-off that ends first. */
export class BackoffPods<E extends BackoffEntry> {
  readonly #deps: BackoffDeps<E>;
  readonly #rejected: Heap<E>;
  readonly #failed: Heap<E>;
  #cancelTimer: CancelTimer = () => undefined;

  constructor(deps: BackoffDeps<E>) {
    this.#deps = deps;
    const uid = ({ pod }: E): string => pod.metadata.uid;
    this.#rejected = new Heap(
      uid,
      (a, b) => a.backoffEndsMs < b.backoffEndsMs || (a.backoffEndsMs === b.backoffEndsMs && deps.less(a, b) < 0),
    );
    this.#failed = new Heap(uid, (a, b) => a.backoffEndsMs < b.backoffEndsMs);
  }

  get size(): number {
    return this.#rejected.size + this.#failed.size;
  }

  get(uid: string): E | undefined {
    return this.#rejected.get(uid) ?? this.#failed.get(uid);
  }

  add(entry: E): void {
    this.replace(entry);
    this.#armTimer();
  }

  /** Replaces an entry of which only the pod changed; the timer stays. */
  replace(entry: E): void {
    (entry.rejectedBy.size === 0 ? this.#failed : this.#rejected).set(entry);
  }

  remove(uid: string): void {
    this.#rejected.remove(uid);
    this.#failed.remove(uid);
  }

  /** Removes the rejected pod whose back-off ends first, before it ends. */
  popRejected(): E | undefined {
    return this.#rejected.pop();
  }

  *values(): IterableIterator<E> {
    yield* this.#rejected.values();
    yield* this.#failed.values();
  }

  stop(): void {
    this.#cancelTimer();
  }

  #armTimer(): void {
    this.#cancelTimer();
    const next = [this.#rejected.peek(), this.#failed.peek()].flatMap((entry) => entry?.backoffEndsMs ?? []);
    if (next.length === 0) return;
    const delayMs = Math.max(0, smallest(next) - this.#deps.clock.monotonicMs());
    this.#cancelTimer = this.#deps.clock.setTimer(delayMs, () => this.#flushCompleted());
  }

  #flushCompleted(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const heap of [this.#rejected, this.#failed])
      for (let next = heap.peek(); next !== undefined && next.backoffEndsMs <= nowMs; next = heap.peek()) {
        heap.pop();
        this.#deps.onCompleted(next);
      }
    this.#armTimer();
  }
}
