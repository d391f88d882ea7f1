/** The event loop of simulations. */
import type { EventLoop } from '../event-loop.ts';

/** Virtual time has no halts to report. */
export function createSimEventLoop(): EventLoop {
  return { onHalt: () => ({ expectWork: () => undefined, stop: () => undefined }) };
}
