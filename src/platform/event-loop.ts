/** Measures how long this process's event loop was blocked. */

/** The event loop port. */
export interface EventLoop {
  /**
   * Calls back with the longest halt of each second that had one of more than a few milliseconds. Measuring wakes the
   * process 20 times a second for some microseconds, so it pauses while the process is nearly idle.
   */
  onHalt(listener: (haltMs: number) => void): HaltMeasurement;
}

/** A running measurement. */
export interface HaltMeasurement {
  /** Announces work that may block the loop, which ends a pause. Cheap enough for every request. */
  expectWork(): void;
  stop(): void;
}
