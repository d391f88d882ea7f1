/** How long the loop of this process stood still. */

/** The event loop port. */
export interface EventLoop {
  /**
   * Calls back with the longest halt of each second that had one of more than some milliseconds. Measuring costs a wake-up
   * of microseconds 20 times a second, so it rests while the process does next to nothing.
   */
  onHalt(listener: (haltMs: number) => void): HaltMeasurement;
}

/** A measurement under way. */
export interface HaltMeasurement {
  /** Work comes that may hold the loop: ends the rest. Cheap enough for every request. */
  expectWork(): void;
  stop(): void;
}
