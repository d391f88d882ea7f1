/** How long the loop of this process stood still. */

/** The event loop port. */
export interface EventLoop {
  /**
   * Calls back with the longest halt of each second that had one of more than some milliseconds. Measuring costs a wake-up
   * of microseconds 20 times a second. The function that is returned ends it.
   */
  onHalt(listener: (haltMs: number) => void): () => void;
}
