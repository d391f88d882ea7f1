/** Ends a process whose work is done. */
import type { Log } from '../platform/log.ts';

/** The time from the end of the work to the end of the process. */
const LINGER_MS = 3_000;

/** Ends the process if something keeps it alive: its supervisor, and whoever stops it, wait for its end. */
export function endLater(log: Log): void {
  const end = (): void => {
    log.warn('the process has stopped and does not end by itself', { open: process.getActiveResourcesInfo() });
    process.exit();
  };
  setTimeout(end, LINGER_MS).unref();
}
