/**
 * Recomputes the rules of one service in every table from the service and its EndpointSlices. Upstream: pkg/proxy/nftables
 * syncProxyRules, for one service.
 */
import type { Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { NO_SLOTS, servicePortElements, type PortSlots } from './desired-rules.ts';
import type { NodeView } from './endpoints.ts';
import type { createHealthCheckServer } from './health-check-server.ts';
import type { Pace } from './pace.ts';
import type { IsReserved } from './reserved-addresses.ts';
import { endpointsOf, isProxied, servicePorts, type ServicePortView } from './service-map.ts';
import { BY_SERVICE, type Sources } from './watch-sources.ts';
import { staleFlows, type FlowFilter } from './conntrack.ts';
import { appendAll } from '../base/lists.ts';
import { stepByStep } from '../base/steps.ts';
import type { ProxyTable } from './proxy-tables.ts';

/** Called with the number of local endpoints of a service with a health check node port. */
export type OnHealth = (key: string, health: Parameters<ReturnType<typeof createHealthCheckServer>['set']>[1]) => void;

/** A service's key, and what its rules depend on. */
export interface Update {
  readonly key: string;
  readonly node: NodeView;
  readonly isReserved: IsReserved;
  readonly tables: readonly ProxyTable[];
  readonly sources: Sources;
  /** Whether the mode applies single changes of elements. */
  readonly incremental: boolean;
  readonly pace: Pace;
  /** Yields to the event loop. */
  readonly yields: () => Promise<void>;
}

export function keyOf(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Resolves to the flows that became stale. */
export async function updateService(update: Update, onHealth: OnHealth): Promise<FlowFilter[]> {
  const { key, tables, sources } = update;
  const service = sources.services.get(keyOf(key));
  const slices = service === undefined || !isProxied(service) ? [] : sources.slices.byIndex(BY_SERVICE, key);
  const stale: FlowFilter[] = [];
  for (const table of tables) {
    const before = table.services.get(key)?.ports ?? [];
    await updatePorts(table, update, { service, slices });
    appendAll(stale, staleFlows(before, table.services.get(key)?.ports ?? []));
  }
  onHealth(key, healthOf(service, { key, tables }));
  return stale;
}

/** A service may have hundreds of thousands of elements: each port claims its own, with yields in between. */
async function updatePorts(
  table: ProxyTable,
  { key, node, isReserved, incremental, pace, yields }: Update,
  { service, slices }: { readonly service: Service | undefined; readonly slices: readonly EndpointSlice[] },
): Promise<void> {
  const { family } = table.config;
  const before = table.services.get(key);
  const ports: ServicePortView[] = [];
  const slots = new Map<string, PortSlots>();
  const view = { node, family, isReserved };
  const endpoints = service && (await stepByStep(endpointsOf(service, slices, view), yields));
  const views = service === undefined || endpoints === undefined ? [] : servicePorts(service, endpoints, view);
  for (const port of views) {
    ports.push(port);
    if (incremental) {
      const id = `${port.name} ${port.protocol}`;
      const result = servicePortElements(port, before?.slots.get(id) ?? NO_SLOTS, table.config);
      table.book.replace(ownerOf(key, port), result.elements);
      slots.set(id, result.slots);
      await pace(result.elements.length);
    } else await pace(port.cluster.length);
  }
  const owners = new Set(ports.map((port) => ownerOf(key, port)));
  for (const owner of (before?.ports ?? []).map((port) => ownerOf(key, port)))
    if (!owners.has(owner)) table.book.replace(owner, []);
  if (ports.length === 0) table.services.delete(key);
  else table.services.set(key, { ports, slots });
}

function ownerOf(key: string, { protocol, port }: ServicePortView): string {
  return `service ${key} ${port}/${protocol}`;
}

/** Terminating endpoints still receive traffic, but do not count for load balancers. */
function healthOf(
  service: Service | undefined,
  { key, tables }: { key: string; tables: readonly ProxyTable[] },
): Parameters<OnHealth>[1] {
  const { healthCheckNodePort: port = 0, externalTrafficPolicy, type } = service?.spec ?? {};
  if (port === 0 || externalTrafficPolicy !== 'Local' || type !== 'LoadBalancer') return undefined;
  const local = new Set(
    tables.flatMap((t) =>
      (t.services.get(key)?.ports ?? []).flatMap((p) => p.local.flatMap((e) => (e.ready ? [e.address] : []))),
    ),
  );
  return { ...keyOf(key), port, localEndpoints: local.size };
}
