/**
 * How a test waits. On a virtual clock waiting moves time, straight from timer to timer and only while somebody waits; on
 * the real clock it lets time pass. Several may wait at once: time moves for all of them, and whoever's condition comes
 * about goes on before it moves further.
 */
import type { CancelTimer, Clock } from '../platform/clock.ts';
import type { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { smallest } from '../base/lists.ts';

/** Waiting. */
export interface Pace {
  readonly kind: 'virtual' | 'real';
  readonly clock: Clock;
  /** Resolves after so long. */
  advance(ms: number): Promise<void>;
  /** Resolves to true as soon as the condition holds, to false after `withinMs`. */
  until(condition: () => boolean, withinMs: number): Promise<boolean>;
  /** Settles as `work` does; time moves as far as that needs. */
  drive<T>(work: Promise<T>): Promise<T>;
  /** Lets everything run that can at this instant. */
  settle(): Promise<void>;
  /** Rejects what still waits. */
  end(reason: Error): void;
}

interface Waiter {
  readonly condition: () => boolean;
  readonly deadlineMs: number;
  resolve(held: boolean): void;
  reject(error: unknown): void;
}

/** Work that hangs for so long of virtual time never ends. */
const DRIVE_LIMIT_MS = 3_600_000;

/** Waits by moving the clock. */
export function createVirtualPace(clock: VirtualClock): Pace {
  const waiters = new Set<Waiter>();
  let moving = false;

  /** Answers those whose wait is over; whether there were any. */
  const answer = (): boolean => {
    const before = waiters.size;
    for (const waiter of waiters) {
      try {
        const held = waiter.condition();
        if (!held && clock.monotonicMs() < waiter.deadlineMs) continue;
        waiters.delete(waiter);
        waiter.resolve(held);
      } catch (error) {
        waiters.delete(waiter);
        waiter.reject(error);
      }
    }
    return waiters.size < before;
  };
  const move = async (): Promise<void> => {
    if (moving) return;
    moving = true;
    try {
      await clock.settle();
      for (;;) {
        // Those answered go on at this instant, and may wait for more, before time moves.
        while (answer()) await clock.settle();
        if (waiters.size === 0) break;
        const deadlineMs = smallest([...waiters].map((waiter) => waiter.deadlineMs));
        const targetMs = Math.min(deadlineMs, clock.nextDueMs ?? Infinity);
        if (targetMs === Infinity)
          throw new Error('nothing is left to happen: the awaited condition cannot come about');
        await clock.advanceSettled(targetMs - clock.monotonicMs());
      }
    } catch (error) {
      for (const waiter of waiters) waiter.reject(error);
      waiters.clear();
    } finally {
      moving = false;
    }
    // Whoever was answered above may have begun to wait again while this ended.
    if (waiters.size > 0) void move();
  };
  const until = (condition: () => boolean, withinMs: number): Promise<boolean> =>
    new Promise((resolve, reject) => {
      waiters.add({ condition, deadlineMs: clock.monotonicMs() + withinMs, resolve, reject });
      void move();
    });
  return {
    kind: 'virtual',
    clock,
    until,
    async advance(ms) {
      await until(() => false, ms);
    },
    async drive(work) {
      let settled = false;
      const mark = (): void => {
        settled = true;
        // While real work holds time still nobody moves the clock, and the work may wait for this answer: a webhook's server
        // that reads objects. Time cannot get ahead of whoever is answered now.
        if (clock.isHeld) answer();
      };
      work.then(mark, mark);
      if (!(await until(() => settled, DRIVE_LIMIT_MS)))
        throw new Error(`no end after ${DRIVE_LIMIT_MS / 60_000} minutes of virtual time`);
      return work;
    },
    async settle() {
      await until(() => true, 0);
    },
    end(reason) {
      for (const waiter of waiters) waiter.reject(reason);
      waiters.clear();
    },
  };
}

/** How often a condition is checked where no event reports changes. */
const POLL_MS = 5;

/** Waits by letting time pass. `keepAlive` holds the process while somebody waits: the clock's timers do not. */
export function createRealPace(clock: Clock, keepAlive: () => CancelTimer): Pace {
  const held = async <T>(work: Promise<T>): Promise<T> => {
    const release = keepAlive();
    try {
      return await work;
    } finally {
      release();
    }
  };
  let ended: Error | undefined;
  const poll = async (condition: () => boolean, withinMs: number): Promise<boolean> => {
    const endMs = clock.monotonicMs() + withinMs;
    for (;;) {
      if (ended !== undefined) throw ended;
      if (condition()) return true;
      const leftMs = endMs - clock.monotonicMs();
      if (leftMs <= 0) return false;
      await clock.sleep(Math.min(POLL_MS, leftMs));
    }
  };
  return {
    kind: 'real',
    clock,
    advance: (ms) => held(clock.sleep(ms)),
    until: (condition, withinMs) => held(poll(condition, withinMs)),
    drive: held,
    settle: () => held(clock.yield()),
    end: (reason) => void (ended = reason),
  };
}
