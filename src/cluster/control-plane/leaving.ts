/**
 * Shuts an API server down: first it reports not ready while it still serves, so that load balancers stop using it;
 * then it refuses new requests and waits for those in progress. Upstream: GenericAPIServer.PrepareRun and its
 * lifecycle signals.
 */
import type { HttpOptions } from '../../apiserver/command-line/http-options.ts';
import type { HealthCheck } from '../../apiserver/routes/health.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpServer } from '../../platform/http.ts';

export interface LeavingServer {
  /** The number of requests in progress, without watches and streams. */
  readonly busy: () => number;
  readonly watches: () => number;
  readonly listening: readonly HttpServer[];
}

type LeavingOptions = Pick<HttpOptions, 'shutdownDelayMs' | 'shutdownSendRetryAfter' | 'shutdownWatchGraceMs'>;

const AT_ONCE: LeavingOptions = { shutdownDelayMs: 0, shutdownSendRetryAfter: false, shutdownWatchGraceMs: 0 };

export interface GracefulShutdown {
  /** Fails once the shutdown has begun. */
  readonly check: HealthCheck;
  /** Whether new requests are refused. */
  refusesNew(): boolean;
  /** Resolves when the server may be stopped: no request is in progress, or after a timeout. */
  drain(server: LeavingServer): Promise<void>;
}

const CHECK_PERIOD_MS = 20;

/** Nothing changes before `drain`. */
export function createLeaving(clock: Clock, options = AT_ONCE, requestTimeoutMs = 60_000): GracefulShutdown {
  const { shutdownDelayMs, shutdownSendRetryAfter, shutdownWatchGraceMs } = options;
  let stage: 'serving' | 'unready' | 'refusing' = 'serving';
  const untilNone = async (count: () => number, withinMs: number): Promise<void> => {
    const endMs = clock.monotonicMs() + withinMs;
    while (count() > 0 && clock.monotonicMs() < endMs) await clock.sleep(CHECK_PERIOD_MS);
  };
  return {
    check: {
      name: 'shutdown',
      endpoints: ['readyz'],
      check: () => (stage === 'serving' ? undefined : 'process is shutting down'),
    },
    refusesNew: () => stage === 'refusing',
    async drain({ busy, watches, listening }) {
      stage = 'unready';
      if (shutdownDelayMs > 0) await clock.sleep(shutdownDelayMs);
      if (shutdownSendRetryAfter) stage = 'refusing';
      // A client that must reconnect may still do so.
      else for (const server of listening) server.close(requestTimeoutMs + shutdownWatchGraceMs).catch(() => undefined); // It ends with the process.
      await untilNone(busy, requestTimeoutMs);
      await untilNone(watches, shutdownWatchGraceMs);
    },
  };
}
