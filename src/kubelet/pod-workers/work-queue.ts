/**
 * Uids of pods to sync again at a certain time. Upstream: pkg/kubelet/util/queue (basicWorkQueue).
 *
 * `enqueue` of a queued uid replaces its time. Upstream polls once a second; here a timer for the earliest time makes
 * the end of a back-off take effect at once.
 */
import { Heap } from '../../base/heap.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';

interface Item {
  readonly uid: string;
  readonly dueMs: number;
}

export interface WorkQueue {
  /** Makes the pod due in `delayMs`. */
  enqueue(uid: string, delayMs: number): void;
  /** Removes and returns every uid that is due. */
  getWork(): readonly string[];
  /** Removes a pod. */
  remove(uid: string): void;
  /** Cancels the timer. */
  stop(): void;
}

/** `onDue` is called when a pod becomes due. */
export function createWorkQueue(clock: Clock, onDue: () => void = () => undefined): WorkQueue {
  const items = new Heap<Item>(
    (item) => item.uid,
    (a, b) => a.dueMs < b.dueMs,
  );
  let timer: { dueMs: number; cancel: CancelTimer } | undefined;
  let stopped = false;

  function arm(): void {
    const next = items.peek();
    if (next?.dueMs === timer?.dueMs) return;
    timer?.cancel();
    timer = undefined;
    if (next === undefined || stopped) return;
    const cancel = clock.setTimer(next.dueMs - clock.monotonicMs(), () => {
      timer = undefined;
      onDue();
    });
    timer = { dueMs: next.dueMs, cancel };
  }

  return {
    enqueue(uid, delayMs) {
      items.set({ uid, dueMs: clock.monotonicMs() + delayMs });
      arm();
    },
    getWork() {
      const due: string[] = [];
      const nowMs = clock.monotonicMs();
      for (let next = items.peek(); next !== undefined && next.dueMs <= nowMs; next = items.peek()) {
        items.pop();
        due.push(next.uid);
      }
      arm();
      return due;
    },
    remove(uid) {
      items.remove(uid);
      arm();
    },
    stop() {
      stopped = true;
      timer?.cancel();
      timer = undefined;
    },
  };
}
