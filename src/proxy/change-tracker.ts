/**
 * Follows Services, EndpointSlices, this node and its pods, and recomputes the rules of what changed. Upstream: pkg/proxy
 * ServiceChangeTracker and EndpointsChangeTracker.
 */
import { EndpointSlices, Nodes, Pods, Services } from '../api/gen/resources.ts';
import type { Node, Service } from '../api/gen/core-v1.ts';
import { stepByStep } from '../base/steps.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import type { Informer, InformerFactory } from '../client/informer.ts';
import type { Platform } from '../platform/platform.ts';
import { createExcessReport } from './excess-report.ts';
import { endpointExcess, externalExcess } from './external-budget.ts';
import { createPace } from './pace.ts';
import { createLeftOutReport } from './left-out-addresses.ts';
import type { LoopbackHostPorts } from './loopback-host-ports.ts';
import { API_SERVICE, reservedDestinations } from './reserved-addresses.ts';
import { BY_SERVICE, watchSources, ZONE_LABEL, type Sources, type Watching } from './watch-sources.ts';
import type { FlowFilter } from './conntrack.ts';
import { appendAll } from '../base/lists.ts';
import { tablesOf, updateHostPorts, updateNodePortRanges, type ProxyTable } from './proxy-tables.ts';
import type { ServiceProxyConfig } from './proxy-config.ts';
import { keyOf, updateService, type OnHealth } from './service-rules.ts';

/** The sources of changes, and the recorder of services that are too large. */
export interface ChangeTrackerDeps {
  readonly informers: InformerFactory;
  readonly platform: Pick<Platform, 'clock' | 'log'>;
  readonly recorder?: EventRecorder;
  /** Absent: host ports of loopback addresses are not served. */
  readonly routeLoopback?: unknown;
}

/** Tracks which services and pods changed since the rules were last computed. */
export interface ChangeTracker {
  readonly tables: readonly ProxyTable[];
  onChange(listener: () => void): void;
  waitForSync(signal: AbortSignal): Promise<void>;
  /** Recomputes what changed since the last call, with yields; resolves to the flows that became stale. */
  update(onHealth: OnHealth): Promise<FlowFilter[]>;
  nodeEligible(): boolean;
}

export function createChangeTracker(
  deps: ChangeTrackerDeps,
  config: ServiceProxyConfig,
  { loopback, ...measures }: Pick<Watching, 'metrics' | 'latencies'> & { readonly loopback: LoopbackHostPorts },
): ChangeTracker {
  const sources: Sources = {
    services: deps.informers.informer(Services),
    slices: deps.informers.informer(EndpointSlices),
    nodes: deps.informers.informer(Nodes),
    pods: deps.informers.informer(Pods, { fieldSelector: `spec.nodeName=${config.nodeName}` }),
  };
  const tables = tablesOf(config, deps.routeLoopback !== undefined);
  const dirty = { services: new Set<string>(), pods: new Set<string>() };
  const { clock } = deps.platform;
  const pace = createPace(clock);
  const yields = (): Promise<void> => clock.yield();
  const reportExcess = createExcessReport(
    { log: deps.platform.log.child('proxy'), recorder: deps.recorder },
    'ServiceTooLarge',
  );
  const reportLeftOut = createLeftOutReport(deps.platform.log.child('proxy'), config.ownDns);
  let listener = (): void => undefined;
  watchSources(sources, {
    dirty,
    config,
    changed() {
      measures.metrics.queued(deps.platform.clock.nowMs() / 1000);
      listener();
    },
    ...measures,
  });
  let eligible = true;
  return {
    tables,
    nodeEligible() {
      const self = sources.nodes.get({ name: config.nodeName });
      if (self !== undefined) eligible = !isLeaving(self);
      return eligible;
    },
    onChange: (call) => {
      listener = call;
    },
    waitForSync: async (signal) => {
      await Promise.all(Object.values(sources).map((s: Informer<never>) => s.waitForSync(signal)));
    },
    async update(onHealth) {
      const self = sources.nodes.get({ name: config.nodeName });
      const node = { name: config.nodeName, zone: self?.metadata.labels?.[ZONE_LABEL], ownDns: config.ownDns };
      updateNodePortRanges(tables, config, self);
      // A service's external addresses depend on the API server's address.
      if (dirty.services.has(API_SERVICE))
        for (const key of externalServices(sources.services)) dirty.services.add(key);
      const isReserved = reservedDestinations(config.serviceCidr, sources.slices.byIndex(BY_SERVICE, API_SERVICE));
      const changed = { services: [...dirty.services], pods: [...dirty.pods] };
      dirty.services.clear();
      dirty.pods.clear();
      const incremental = config.mode === 'nftables';
      const stale: FlowFilter[] = [];
      try {
        for (const key of changed.services) {
          const update = { key, node, isReserved, tables, sources, incremental, pace, yields };
          appendAll(stale, await updateService(update, onHealth));
          const service = sources.services.get(keyOf(key));
          reportLeftOut(key, service, isReserved);
          reportExcess(
            key,
            service,
            service &&
              (externalExcess(service) ??
                (await stepByStep(endpointExcess(service, sources.slices.byIndex(BY_SERVICE, key)), yields))),
          );
        }
        for (const key of changed.pods) {
          const pod = sources.pods.get(keyOf(key));
          if (pod !== undefined) loopback.observe(key, pod);
          for (const table of tables) updateHostPorts(table, { key, pod, incremental });
        }
      } catch (error) {
        for (const key of changed.services) dirty.services.add(key);
        for (const key of changed.pods) dirty.pods.add(key);
        throw error;
      }
      return stale;
    },
  };
}

const TO_BE_DELETED_TAINT = 'ToBeDeletedByClusterAutoscaler';

const isLeaving = ({ metadata, spec }: Node): boolean =>
  metadata.deletionTimestamp !== undefined || spec?.taints?.some(({ key }) => key === TO_BE_DELETED_TAINT) === true;

/** Keys of services with addresses besides their cluster address. */
function externalServices(services: Informer<Service>): string[] {
  const external = services.list().filter(({ spec }) => spec?.type === 'LoadBalancer' || spec?.externalIPs?.length);
  return external.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
}
