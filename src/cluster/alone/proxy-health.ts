/** Health and metrics endpoints of a standalone service proxy. Upstream: proxy/healthcheck, cmd/kube-proxy. */
import { formatMicroTime } from '../../api/time.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpHandler, HttpResponse, HttpServer } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ServiceProxy } from '../../proxy/service-proxy.ts';
import { serveStatusz } from './serve-statusz.ts';

/** `host:port` of each; absent: not served. */
export interface ProxyHealthOptions {
  readonly healthAddress?: string;
  readonly metricsAddress?: string;
  /** Whether a port in use is a fatal error. */
  readonly hardFail: boolean;
  readonly mode: string;
}

/** The age at which a pending change counts as stuck: twice upstream's default sync period. */
const STUCK_MS = 60_000;

/** Rejects for a port in use only if `hardFail` is set. */
export async function serveProxyHealth(
  platform: Pick<Platform, 'listenHttp' | 'clock' | 'log' | 'metrics'>,
  proxy: Pick<ServiceProxy, 'syncState' | 'nodeEligible'>,
  { healthAddress, metricsAddress, hardFail, mode }: ProxyHealthOptions,
): Promise<{ close(): Promise<void> }> {
  const { log, metrics } = platform;
  const statusz = serveStatusz(platform.clock, 'kube-proxy', ['/healthz', '/metrics', '/proxyMode']);
  const metricsHandler: HttpHandler = async ({ path, headers }) => {
    if (path === '/statusz') return statusz(headers['accept']);
    if (path === '/metrics')
      return healthResponse(200, 'text/plain; version=0.0.4; charset=utf-8', await metrics.expose());
    if (path === '/proxyMode') return healthResponse(200, 'text/plain; charset=utf-8', mode);
    return path === '/healthz' ? healthResponse(200, 'text/plain; charset=utf-8', 'ok') : notFound();
  };
  const open: HttpServer[] = [];
  for (const [address, handler] of [
    [healthAddress, healthHandler(platform.clock, proxy)],
    [metricsAddress, metricsHandler],
  ] as const) {
    if (address === undefined) continue;
    const at = address.lastIndexOf(':');
    const host = address.slice(0, at).replace(/^\[|\]$/g, '');
    try {
      open.push(
        await platform.listenHttp(
          { host: host === '' ? '0.0.0.0' : host, port: Number(address.slice(at + 1)) },
          handler,
        ),
      );
    } catch (err) {
      if (hardFail) throw err;
      log.error('Failed to serve', { address, err });
    }
  }
  return {
    close: async () => {
      await Promise.all(open.map((server) => server.close(500)));
    },
  };
}

/** `/livez` ignores the node's state: a proxy must not be restarted because its node is being deleted. */
function healthHandler(clock: Clock, proxy: Pick<ServiceProxy, 'syncState' | 'nodeEligible'>): HttpHandler {
  const startedMs = clock.nowMs();
  return ({ path }) => {
    if (path !== '/healthz' && path !== '/livez') return notFound();
    const { waitingMs, lastSyncedMs = startedMs } = proxy.syncState();
    const healthy = waitingMs < STUCK_MS;
    const nodeEligible = path === '/livez' || proxy.nodeEligible();
    const nowMs = clock.nowMs();
    // As upstream: readers treat an old time as a stuck proxy.
    const lastUpdated = formatMicroTime(healthy ? nowMs : lastSyncedMs);
    const times = { lastUpdated, currentTime: formatMicroTime(nowMs) };
    const body = path === '/livez' ? times : { ...times, nodeEligible };
    return healthResponse(healthy && nodeEligible ? 200 : 503, 'application/json', JSON.stringify(body));
  };
}

function healthResponse(status: number, type: string, body: string): HttpResponse {
  return { kind: 'bytes', status, headers: { 'content-type': type }, chunks: [Buffer.from(body)] };
}

const notFound = (): HttpResponse => healthResponse(404, 'text/plain; charset=utf-8', '404 page not found\n');
