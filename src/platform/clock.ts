/**
 * The clock port: the only source of time in Keelson.
 *
 * Invariants: `monotonicMs` never goes back; timers run on monotonic time and may be longer than the 24.8 days a bare
 * `setTimeout` can hold; a callback never runs inside the call that scheduled it. Under the virtual clock time stands
 * still while any busy token is held and jumps straight to the next timer when everything is idle.
 */

/** Cancels a timer. Calling it twice, or after the timer fired, does nothing. */
export type CancelTimer = () => void;

/** Called exactly once by the holder of a busy token. */
export type ReleaseBusy = () => void;

/** Wall time, monotonic time and timers. */
export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch, with sub-millisecond fraction where there is one. May jump. */
  nowMs(): number;
  /** Milliseconds since an arbitrary start; never goes back. Measure durations with this. */
  monotonicMs(): number;
  /** Runs `callback` once after `delayMs` (at least 0). Any length is allowed. The timer does not keep a process alive. */
  setTimer(delayMs: number, callback: () => void): CancelTimer;
  /** Runs `callback` every `periodMs`, first after one period; a slow callback skips beats, never queues them. */
  setTicker(periodMs: number, callback: () => void): CancelTimer;
  /** Resolves after `delayMs`; rejects with the signal's reason when aborted first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
  /**
   * Resolves in a later turn of the event loop, so that I/O and other work run. Never moves virtual time. Flows with
   * waiting work take turns; the cluster's own work (no flow) comes after each of the others.
   */
  yield(flow?: string): Promise<void>;
  /**
   * Called before work that may take milliseconds. Undefined: continue; a promise must be awaited, since other such
   * work runs in this turn. Never waits under virtual time.
   */
  turn(flow?: string): Promise<void> | undefined;
  /** Holds virtual time still until released; taken by every adapter around real asynchronous work. Free on the real clock. */
  holdBusy(what: string): ReleaseBusy;
  /** Called with the size of the jump when wall time moves against monotonic time by more than a second. */
  onWallJump(listener: (jumpMs: number) => void): CancelTimer;
}

/** Sleeps until the time is up or the signal aborts, whichever is first. For loops that check the signal themselves. */
export function sleepUnlessAborted(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return clock.sleep(delayMs, signal).catch(() => undefined);
}

/** Resolves when the work has settled or the time is up, whichever is first. Never rejects. */
export async function settledWithin(clock: Clock, limitMs: number, work: Promise<unknown>): Promise<void> {
  const waited = new AbortController();
  await Promise.race([work.catch(() => undefined), sleepUnlessAborted(clock, limitMs, waited.signal)]);
  waited.abort();
}
