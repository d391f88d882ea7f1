/**
 * How a test waits. On a virtual clock, waiting advances time from timer to timer, and only while a test waits; on the real
 * clock, it lets time pass. Several waits may be pending: time advances for all, and a wait whose condition is met continues
 * before time advances further.
 */
import type { CancelTimer, Clock } from '../platform/clock.ts';
import type { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { smallest } from '../base/lists.ts';

export interface Pace {
  readonly kind: 'virtual' | 'real';
  readonly clock: Clock;
  /** Resolves when the time has passed. */
  advance(ms: number): Promise<void>;
  /** Resolves to true as soon as the condition holds, to false after `withinMs`. */
  until(condition: () => boolean, withinMs: number): Promise<boolean>;
  /** Settles like `work`; time advances as far as that needs. */
  drive<T>(work: Promise<T>): Promise<T>;
  /** Runs everything that can run at the current instant. */
  settle(): Promise<void>;
  /** Rejects pending waits. */
  end(reason: Error): void;
}

interface Waiter {
  readonly condition: () => boolean;
  readonly deadlineMs: number;
  resolve(held: boolean): void;
  reject(error: unknown): void;
}

/** The limit of virtual time for work that does not end. */
const DRIVE_LIMIT_MS = 3_600_000;

/** Waits by advancing the clock. */
export function createVirtualPace(clock: VirtualClock): Pace {
  const waiters = new Set<Waiter>();
  let moving = false;

  /** Resolves the waits whose condition is met; returns whether there were any. */
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
        // Resolved waits continue at this instant, and may lead to further waits, before time advances.
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
    // A wait resolved above may have been followed by another one meanwhile.
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
        // While real work holds time, the clock does not advance, and that work may wait for this result, as a webhook's server
        // that reads objects. Time cannot pass before the resolved wait continues.
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

/** The interval at which a condition is checked when no event reports changes. */
const POLL_MS = 5;

/** Waits by letting time pass. `keepAlive` keeps the process alive during a wait, which the clock's timers do not. */
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
