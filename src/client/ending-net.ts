/**
 * A network port whose calls end with their owner unless they have a signal of their own. Otherwise a read would wait
 * for a server that does not answer (half a minute for the head, forever for the body), and keep a stopped process
 * alive.
 */
import type { HttpCall, Net } from '../platform/net.ts';

/** Wraps the port. A call with a signal of its own ends only by that. */
export function endingNet(net: Net, signal: AbortSignal): Net {
  const ending = <T extends HttpCall>(call: T): T => (call.signal === undefined ? { ...call, signal } : call);
  return {
    dial: (target) => net.dial(target),
    lookup: (host) => net.lookup(host),
    interfaces: () => net.interfaces(),
    http: (call) => net.http(ending(call)),
    upgrade: (call) => net.upgrade(ending(call)),
  };
}
