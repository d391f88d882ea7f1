/** A network port whose calls of an API server are counted and timed. Upstream: client-go tools/metrics. */
import type { Clock } from '../platform/clock.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { HttpCall, Net } from '../platform/net.ts';

const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** Wraps the port, which must be used only for API servers. Times end at an answer's head. */
export function measuredNet(net: Net, { clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics }): Net {
  const total = metrics.counter({
    name: 'rest_client_requests_total',
    help: 'Number of HTTP requests, partitioned by status code, method, and host.',
    labels: ['code', 'method', 'host'],
  });
  const duration = metrics.histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'Request latency in seconds. Broken down by verb, and host.',
    labels: ['verb', 'host'],
    buckets: SECONDS,
  });
  const measure = async <T extends object>(call: HttpCall, ask: () => Promise<T>): Promise<T> => {
    const { host } = new URL(call.url);
    const method = call.method ?? 'GET';
    const startMs = clock.monotonicMs();
    // As upstream calls a request that got no answer.
    let code = '<error>';
    try {
      const answer = await ask();
      code = 'status' in answer ? String(answer.status) : '101';
      return answer;
    } finally {
      total.inc({ code, method, host });
      duration.observe((clock.monotonicMs() - startMs) / 1000, { verb: method, host });
    }
  };
  return {
    dial: (target) => net.dial(target),
    lookup: (host) => net.lookup(host),
    interfaces: () => net.interfaces(),
    http: (call) => measure(call, () => net.http(call)),
    upgrade: (call) => measure(call, () => net.upgrade(call)),
  };
}
