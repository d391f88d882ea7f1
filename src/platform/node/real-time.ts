/** Detects and warns a test program that waits in real time. */
import { performance } from 'node:perf_hooks';

/** Milliseconds in which the loop of this thread had nothing to do, since it began. */
export function idleMs(): number {
  return performance.eventLoopUtilization().idle;
}

/**
 * Calls back periodically in real time while the process stays alive for other reasons. Returns a function that ends
 * it.
 */
export function everyRealMs(periodMs: number, callback: () => void): () => void {
  const timer = setInterval(callback, periodMs).unref();
  return () => clearInterval(timer);
}

/** Shows a warning as Node.js shows its own: on standard error, unless `--no-warnings` is given. */
export function warn(message: string): void {
  process.emitWarning(message, { type: 'KeelsonWarning' });
}
