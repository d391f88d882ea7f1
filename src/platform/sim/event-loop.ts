import type { EventLoop } from '../event-loop.ts';

/** Virtual time never stands still for anybody. */
export function createSimEventLoop(): EventLoop {
  return { onHalt: () => ({ expectWork: () => undefined, stop: () => undefined }) };
}
