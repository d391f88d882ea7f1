/** Node's own sampling of the loop's delay: a timer of libuv, whose callback runs no JavaScript. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { EventLoop } from '../event-loop.ts';

/** Halts are seen by a timer that comes late: one that lasts less than its period may be missed. */
const PERIOD_MS = 50;
const REPORT_EVERY_MS = 1000;
const LEAST_MS = 10;

/** The loop of this thread. */
export function createNodeEventLoop(): EventLoop {
  return {
    onHalt(listener) {
      const delays = monitorEventLoopDelay({ resolution: PERIOD_MS });
      delays.enable();
      const timer = setInterval(() => {
        const haltMs = delays.max / 1e6 - PERIOD_MS;
        delays.reset();
        if (haltMs >= LEAST_MS) listener(haltMs);
      }, REPORT_EVERY_MS).unref();
      return () => {
        clearInterval(timer);
        delays.disable();
      };
    },
  };
}
