/**
 * How an API server takes its leave: first it says it is not ready while it serves on, so that balancers stop sending to
 * it; then it takes nothing new, and what is under way ends. Upstream: GenericAPIServer.PrepareRun and its lifecycle
 * signals.
 */
import type { HttpOptions } from '../../apiserver/command-line/http-options.ts';
import type { HealthCheck } from '../../apiserver/routes/health.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpServer } from '../../platform/http.ts';

export interface LeavingServer {
  /** Requests that are served at this moment, watches and streams aside. */
  readonly busy: () => number;
  readonly watches: () => number;
  readonly listening: readonly HttpServer[];
}

type LeavingOptions = Pick<HttpOptions, 'shutdownDelayMs' | 'shutdownSendRetryAfter' | 'shutdownWatchGraceMs'>;

const AT_ONCE: LeavingOptions = { shutdownDelayMs: 0, shutdownSendRetryAfter: false, shutdownWatchGraceMs: 0 };

export interface Leaving {
  /** Fails from the first moment on. */
  readonly check: HealthCheck;
  /** Whether new requests are refused. */
  refusesNew(): boolean;
  /** Resolves when the server may be stopped: nothing is under way, or it took too long. */
  drain(server: LeavingServer): Promise<void>;
}

const CHECK_PERIOD_MS = 20;

/** Prepares for it; nothing is different before `drain`. */
export function createLeaving(clock: Clock, options = AT_ONCE, requestTimeoutMs = 60_000): Leaving {
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
      // A client that is asked to reconnect must be able to do so.
      else for (const server of listening) server.close(requestTimeoutMs + shutdownWatchGraceMs).catch(() => undefined); // It ends with the process.
      await untilNone(busy, requestTimeoutMs);
      await untilNone(watches, shutdownWatchGraceMs);
    },
  };
}
