/** Requests to the kubelet's own servers. Upstream: pkg/kubelet/server/metrics. */
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { BasePlatform } from '../../platform/platform.ts';

/** The kubelet's servers, by upstream's values. */
export type ServerType = 'readwrite' | 'readonly';

const LABELS = ['method', 'path', 'server_type', 'long_running'];
const STREAMS: ReadonlySet<string> = new Set(['exec', 'attach', 'portForward', 'debug']);
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Counts and times a request. `path` is the first segment of the path, or `other` where it is not served. */
export type MeasureRequest = (
  request: Pick<HttpRequest, 'method'>,
  path: string,
  answer: () => Promise<HttpResponse>,
) => Promise<HttpResponse>;

export function createServerRequests(
  { clock, metrics }: Pick<BasePlatform, 'clock' | 'metrics'>,
  serverType: ServerType,
): MeasureRequest {
  const total = metrics.counter({
    name: 'kubelet_http_requests_total',
    help: 'Requests to the kubelet, since it started.',
    labels: LABELS,
  });
  const duration = metrics.histogram({
    name: 'kubelet_http_requests_duration_seconds',
    help: 'Time to answer a request.',
    labels: LABELS,
  });
  const inflight = metrics.gauge({
    name: 'kubelet_http_inflight_requests',
    help: 'Requests being answered.',
    labels: LABELS,
  });
  const underWay = new Map<string, number>();
  return async ({ method }, path, answer) => {
    const labels = {
      method: METHODS.has(method) ? method : 'other',
      path,
      server_type: serverType,
      long_running: String(STREAMS.has(path)),
    };
    const key = `${labels.method} ${path}`;
    const change = (by: number): void => {
      underWay.set(key, (underWay.get(key) ?? 0) + by);
      inflight.set(underWay.get(key) ?? 0, labels);
    };
    const startMs = clock.monotonicMs();
    total.inc(labels);
    change(1);
    try {
      return await answer();
    } finally {
      change(-1);
      duration.observe((clock.monotonicMs() - startMs) / 1000, labels);
    }
  };
}
