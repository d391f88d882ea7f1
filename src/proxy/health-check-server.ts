/**
 * The health check node ports of services with external traffic policy Local: load balancers ask each node whether it
 * has endpoints of the service. Upstream: pkg/proxy/healthcheck/service_health.go.
 */
import type { HttpResponse, HttpServer, ListenHttp } from '../platform/http.ts';
import type { Log } from '../platform/log.ts';

/** The health that one service's port reports. */
export interface ServiceHealth {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localEndpoints: number;
}

/** Opens and closes the ports as services come and go. */
export interface HealthCheckServer {
  /** Sets the health of a service; undefined closes its port. */
  set(key: string, health: ServiceHealth | undefined): void;
  /** Adjusts the listeners to the host's addresses, and retries ports that were in use. */
  refresh(): void;
  /** Closes all ports. */
  close(): Promise<void>;
}

interface Entry {
  health: ServiceHealth;
  /** By address. */
  readonly servers: Map<string, HttpServer>;
  /** Addresses whose failure has been logged. */
  readonly failed: Set<string>;
}

/**
 * Opens no port before the first `set`. `isProxyHealthy`: whether the rules are in place; `hosts`: the addresses to listen at,
 * `::` for all addresses of both families.
 */
export function createHealthCheckServer(
  deps: { readonly listenHttp: ListenHttp; readonly log: Log },
  isProxyHealthy: () => boolean,
  hosts: () => readonly string[],
): HealthCheckServer {
  const entries = new Map<string, Entry>();
  let before = '';
  /** Ports are opened and closed one after the other, so that a service can take over another's port. */
  let last: Promise<void> = Promise.resolve();
  const then = (work: () => Promise<void>): void => {
    last = last.then(work).catch((err: unknown) => deps.log.error('health check node ports cannot be set up', { err }));
  };
  async function open(entry: Entry, [key, host]: readonly [string, string]): Promise<void> {
    const { servers, failed } = entry;
    const { port } = entry.health;
    try {
      servers.set(host, await deps.listenHttp({ host, port }, () => answer(entry.health, isProxyHealthy())));
      failed.delete(host);
    } catch (error) {
      if (failed.has(host)) return;
      failed.add(host);
      deps.log.error('health check node port cannot be opened', { service: key, host, port, err: error });
    }
  }
  async function listen(key: string, entry: Entry): Promise<void> {
    if (entries.get(key) !== entry) return;
    const wanted = new Set(hosts());
    for (const [host, server] of entry.servers) {
      if (wanted.has(host)) continue;
      entry.servers.delete(host);
      await server.close(0);
    }
    for (const host of wanted) if (!entry.servers.has(host)) await open(entry, [key, host]);
  }
  function drop(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    then(async () => {
      await Promise.all([...entry.servers.values()].map((server) => server.close(0)));
    });
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
      const made: Entry = { health, servers: new Map(), failed: new Set() };
      entries.set(key, made);
      then(() => listen(key, made));
    },
    refresh() {
      const now = hosts().join();
      if (now === before && [...entries.values()].every(({ failed }) => failed.size === 0)) return;
      before = now;
      for (const [key, entry] of entries) then(() => listen(key, entry));
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
