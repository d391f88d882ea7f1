/** A network port whose HTTP calls begin no faster than a rate. Upstream: client-go flowcontrol as rest.Config uses it. */
import type { Clock } from '../platform/clock.ts';
import type { Net } from '../platform/net.ts';
import { createTokenBucket } from './rate-limiter.ts';

/** Calls wait their turn in order; a waiting call that is aborted rejects at once. A rate of 0 or below: no limit. */
export function rateLimitedNet(
  net: Net,
  clock: Clock,
  rate: { readonly perSecond: number; readonly burst: number },
): Net {
  if (rate.perSecond <= 0) return net;
  const bucket = createTokenBucket(clock, rate);
  const turn = async (signal: AbortSignal | undefined): Promise<void> => {
    const waitMs = bucket.reserveMs();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
  };
  return {
    dial: (target) => net.dial(target),
    lookup: (host) => net.lookup(host),
    interfaces: () => net.interfaces(),
    async http(call) {
      await turn(call.signal);
      return net.http(call);
    },
    async upgrade(call) {
      await turn(call.signal);
      return net.upgrade(call);
    },
  };
}
