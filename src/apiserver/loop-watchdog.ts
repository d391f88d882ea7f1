/**
 * Measures stalls of the event loop and logs the requests that were running. Upstream has a thread per request
 * instead.
 */
import type { Clock } from '../platform/clock.ts';
import type { EventLoop, HaltMeasurement } from '../platform/event-loop.ts';
import type { Log } from '../platform/log.ts';
import type { Histogram, Metrics } from '../platform/metrics.ts';
import type { RequestScope } from './request-scope.ts';

/** Shorter stalls are not logged. */
const LOGGED_MS = 250;
/** Shorter requests cannot have blocked the loop for long. */
const NOTICED_MS = 100;
/** The log entry waits this long for the end of the request that blocked the loop. */
const PATIENCE_MS = 2000;
/** At most one log entry in this time; the next one has the number of omitted entries. */
const QUIET_MS = 10_000;
const REMEMBERED = 16;
const SHOWN_LENGTH = 200;

interface SlowRequest {
  readonly startMs: number;
  readonly endMs: number;
  /** What is logged of the request; the request itself may hold megabytes. */
  readonly shown: object;
}

export interface LoopWatchdogDeps {
  readonly loop: EventLoop;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Watches from `start` on. */
export class LoopWatchdog {
  readonly #deps: LoopWatchdogDeps;
  readonly #stalls: Histogram;
  #measurement: HaltMeasurement | undefined;
  #slow: SlowRequest[] = [];
  #quietUntilMs = -Infinity;
  #leftOut = 0;

  constructor(deps: LoopWatchdogDeps) {
    this.#deps = deps;
    this.#stalls = deps.metrics.histogram({
      name: 'keelson_event_loop_stall_seconds',
      help: 'The longest halt of the event loop in each second that had one of more than 10 ms.',
      buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    });
  }

  /** Returns a function that ends the measurement. */
  start(): () => void {
    const measurement = this.#deps.loop.onHalt((haltMs) => {
      this.#stalls.observe(haltMs / 1000);
      if (haltMs >= LOGGED_MS) this.#report(haltMs);
    });
    this.#measurement = measurement;
    return () => measurement.stop();
  }

  /** Call before each request is handled. Requests of the cluster's own parts do not count as activity. */
  began({ request }: Pick<RequestScope, 'request'>): void {
    if (request.principal === undefined) this.#measurement?.expectWork();
  }

  /** Call when a request has ended. */
  ended(scope: RequestScope, { startMs, endMs }: { startMs: number; endMs: number }): void {
    if (endMs - startMs < NOTICED_MS || scope.info.verb === 'watch') return;
    this.#slow.push({ shown: describe(scope, endMs - startMs), startMs, endMs });
    if (this.#slow.length > REMEMBERED) this.#slow.shift();
  }

  #report(haltMs: number): void {
    const { clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#quietUntilMs) {
      this.#leftOut++;
      return;
    }
    this.#quietUntilMs = nowMs + QUIET_MS;
    clock.setTimer(PATIENCE_MS, () => this.#log(haltMs, nowMs));
  }

  #log(haltMs: number, seenMs: number): void {
    // The stall ended within the second before it was noticed.
    const earliestMs = seenMs - 1000 - haltMs;
    const requests = this.#slow
      .filter(({ startMs, endMs }) => startMs <= seenMs && endMs >= earliestMs)
      .map(({ shown }) => shown);
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    this.#slow = [];
    this.#deps.log.warn('the event loop stood still: every request and every pod of this process waited', {
      haltMs: Math.round(haltMs),
      requests,
      ...(leftOut > 0 && { haltsNotLogged: leftOut }),
    });
  }
}

const shortened = (text: string): string => text.slice(0, SHOWN_LENGTH);

/** Without body and query, which may contain secrets. */
function describe(scope: RequestScope, tookMs: number): object {
  const { info, user, request } = scope;
  const { apiGroup, resource, subresource, namespace } = info;
  return {
    verb: info.verb,
    resource: shortened([apiGroup, resource, subresource].filter((part) => part !== '').join('/') || info.path),
    ...(namespace !== '' && { namespace: shortened(namespace) }),
    user: shortened(user.name),
    userAgent: shortened(scope.userAgent),
    contentType: shortened(request.headers['content-type'] ?? ''),
    bytes: Number(request.headers['content-length'] ?? 0),
    tookMs: Math.round(tookMs),
  };
}
