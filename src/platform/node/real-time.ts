/** What tells that a program waits in real time, and how it is told so. */
import { performance } from 'node:perf_hooks';

/** Milliseconds in which the loop of this thread had nothing to do, since it began. */
export function idleMs(): number {
  return performance.eventLoopUtilization().idle;
}

/** Calls back in real time, again and again, as long as the process lives for something else. Returns what ends it. */
export function everyRealMs(periodMs: number, callback: () => void): () => void {
  const timer = setInterval(callback, periodMs).unref();
  return () => clearInterval(timer);
}

/** Shows a warning as Node.js shows its own: on standard error, unless `--no-warnings` is given. */
export function warn(message: string): void {
  process.emitWarning(message, { type: 'KeelsonWarning' });
}
