/**
 * The health check node ports of services with external traffic policy Local: a load balancer asks each node whether it has
 * endpoints of the service. Upstream: pkg/proxy/healthcheck/service_health.go.
 */
import type { HttpResponse, HttpServer, ListenHttp } from '../platform/http.ts';
import type { Log } from '../platform/log.ts';

/** What one service's port answers. */
export interface ServiceHealth {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localEndpoints: number;
}

/** Opens and closes the ports as services come and go. */
export interface HealthCheckServer {
  /** Sets what is answered for the service; undefined closes its port. */
  set(key: string, health: ServiceHealth | undefined): void;
  /** Closes all ports. */
  close(): Promise<void>;
}

interface Entry {
  health: ServiceHealth;
  server: HttpServer | undefined;
}

/** Makes it; `isProxyHealthy` tells whether the rules are in place; `host` is what to listen at: `::` for both families. */
export function createHealthCheckServer(
  deps: { readonly listenHttp: ListenHttp; readonly log: Log },
  isProxyHealthy: () => boolean,
  host: '0.0.0.0' | '::',
): HealthCheckServer {
  const entries = new Map<string, Entry>();
  /** Ports open and close one after the other, so that one service can take over another's port. */
  let last: Promise<void> = Promise.resolve();
  const then = (work: () => Promise<void>): void => {
    last = last.then(work);
  };
  async function open(key: string, entry: Entry): Promise<void> {
    if (entries.get(key) !== entry) return;
    const { port } = entry.health;
    try {
      entry.server = await deps.listenHttp({ host, port }, () => answer(entry.health, isProxyHealthy()));
    } catch (error) {
      deps.log.error('health check node port cannot be opened', { service: key, port, err: error });
    }
  }
  function drop(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    then(async () => entry.server?.close(0));
  }
  return {
    set(key, health) {
      const entry = entries.get(key);
      if (entry !== undefined && entry.health.port === health?.port) {
        entry.health = health;
        return;
      }
      drop(key);
      if (health === undefined) return;
      const made: Entry = { health, server: undefined };
      entries.set(key, made);
      then(() => open(key, made));
    },
    async close() {
      for (const key of [...entries.keys()]) drop(key);
      await last;
    },
  };
}

function answer({ namespace, name, localEndpoints }: ServiceHealth, serviceProxyHealthy: boolean): HttpResponse {
  const body = JSON.stringify({ service: { namespace, name }, localEndpoints, serviceProxyHealthy }, undefined, 1);
  return {
    kind: 'bytes',
    status: localEndpoints > 0 && serviceProxyHealthy ? 200 : 503,
    headers: {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'x-load-balancing-endpoint-weight': String(localEndpoints),
    },
    chunks: [Buffer.from(body)],
  };
}
