/**
 * Keeps the scanning worker from running ahead of the reader, since pages between the threads use memory. One counter
 * in shared memory, on which the worker sleeps; it answers no other requests during a scan anyway.
 */

/** The most pages between the threads. */
export const PAGES_AHEAD = 4;
const STOPPED = -1;

/** The side that takes pages. */
export interface ScanReader {
  /** For the worker: shared memory. */
  readonly taken: Int32Array<SharedArrayBuffer>;
  /** A page was taken. */
  take(): void;
  /** No further page is wanted. */
  stop(): void;
}

export function createScanReader(): ScanReader {
  const taken = new Int32Array(new SharedArrayBuffer(4));
  let pages = 0;
  const report = (value: number): void => {
    Atomics.store(taken, 0, value);
    Atomics.notify(taken, 0);
  };
  return { taken, take: () => report(++pages), stop: () => report(STOPPED) };
}

/**
 * In the worker: called before each page; returns true when the page may be sent, and false when the reader has
 * stopped. `wait` sleeps while the counter has this value.
 */
export function createScanPace(
  taken: Int32Array<SharedArrayBuffer>,
  wait: (seen: number) => void = (seen) => Atomics.wait(taken, 0, seen),
): () => boolean {
  let sent = 0;
  return () => {
    for (;;) {
      const seen = Atomics.load(taken, 0);
      if (seen === STOPPED) return false;
      if (sent - seen < PAGES_AHEAD) break;
      wait(seen);
    }
    sent++;
    return true;
  };
}
