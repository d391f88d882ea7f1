/** Node's own sampling of the loop's delay: a timer of libuv, whose callback runs no JavaScript. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { EventLoop } from '../event-loop.ts';

/** Halts are seen by a timer that comes late: one that lasts less than its period may be missed. */
const periodMs = 50;
const reportEveryMs = 1000;
const leastMs = 10;

/** The loop of this thread. */
export function createNodeEventLoop(): EventLoop {
  return {
    onHalt(listener) {
      const delays = monitorEventLoopDelay({ resolution: periodMs });
      delays.enable();
      const timer = setInterval(() => {
        const haltMs = delays.max / 1e6 - periodMs;
        delays.reset();
        if (haltMs >= leastMs) listener(haltMs);
      }, reportEveryMs).unref();
      return () => {
        clearInterval(timer);
        delays.disable();
      };
    },
  };
}
