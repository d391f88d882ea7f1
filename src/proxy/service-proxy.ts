/**
 * The service proxy of one node: follows Services, EndpointSlices, this node and its pods, keeps what they want in the rule
 * books and lets the applier put that into nftables. Upstream: pkg/proxy/nftables.
 *
 * Differs on purpose: no chains per service (see chains.ts), a change is in the kernel within milliseconds instead of once a
 * second, host ports of pods are rules here instead of a CNI plugin per pod. As with upstream's nftables proxy, node ports
 * are not served on loopback addresses.
 */
import { EndpointSlices, Nodes, Pods, Services } from '../api/gen/resources.ts';
import type { Node, Pod, Service } from '../api/gen/core-v1.ts';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { parseCidr } from '../base/cidr.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import type { Informer, InformerFactory } from '../client/informer.ts';
import type { Platform } from '../platform/platform.ts';
import {
  NO_SLOTS,
  hostPortElements,
  hostPortViews,
  nodePortAddressElements,
  servicePortElements,
  type HostPortView,
  type PortSlots,
} from './desired-rules.ts';
import type { NodeView } from './endpoints.ts';
import { createHealthCheckServer } from './health-check-server.ts';
import { createExcessReport } from './excess-report.ts';
import { endpointExcess, externalExcess } from './external-budget.ts';
import { createPace, type Pace } from './pace.ts';
import { createLeftOutReport } from './left-out-addresses.ts';
import { createLoopbackHostPorts, type LoopbackHostPorts } from './loopback-host-ports.ts';
import type { TableConfig } from './nft-script.ts';
import { createNftablesApplier, type RuleTable } from './nftables-applier.ts';
import { createIptablesApplier } from './iptables/iptables-applier.ts';
import type { ApplierDeps, RuleApplier } from './rule-applier.ts';
import { createUserspaceApplier } from './userspace/userspace-applier.ts';
import { createProgrammingLatencies } from './programming-latency.ts';
import { createProxyMetrics } from './proxy-metrics.ts';
import { nodePortHosts, nodePortRanges, wantsLoopbackNodePorts } from './node-port-addresses.ts';
import { API_SERVICE, reservedDestinations, type IsReserved } from './reserved-addresses.ts';
import { RuleBook } from './rule-book.ts';
import { isProxied, servicePorts, type ServicePortView } from './service-map.ts';
import { BY_SERVICE, watchSources, ZONE_LABEL, type Sources, type Watching } from './watch-sources.ts';
import { createFlowCleaner, staleFlows, type FlowFilter } from './conntrack.ts';
import { createSyncProgress, type SyncState } from './sync-progress.ts';
import { appendAll } from '../base/lists.ts';

export interface ServiceProxyDeps {
  /** Services, EndpointSlices and Nodes of the cluster, Pods of this node. The owner of the factory starts them. */
  readonly informers: InformerFactory;
  readonly platform: Pick<
    Platform,
    'exec' | 'clock' | 'log' | 'metrics' | 'listenHttp' | 'crypto' | 'net' | 'datagrams' | 'random'
  >;
  /**
   * Has packets from loopback addresses of this host routed to pods, and those of everybody else kept from loopback
   * addresses, which holds from before the first call. Absent: host ports of loopback addresses are not served.
   */
  readonly routeLoopback?: () => Promise<void>;
  /** Of events about services that are too large. Absent: the log alone has it. */
  readonly recorder?: EventRecorder;
}

/** How rules come into the kernel. */
export type ProxyMode = 'nftables' | 'iptables' | 'userspace';

/** Names and ranges of the instance. Ranges of several families are separated by commas. */
export interface ServiceProxyConfig {
  readonly nodeName: string;
  readonly nftTable: string;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  /** The address of cluster DNS, where that is ours. */
  readonly ownDns?: string;
  /** Its upper 16 bits are used; the lower ones are the slots of session affinity. */
  readonly masqueradeMark: number;
  readonly mode: ProxyMode;
  /** Where node ports answer, checked: ranges, or `primary`. Absent or empty: on all addresses. */
  readonly nodePortAddresses?: readonly string[];
  /** TCP ports on which this machine serves the API and its kubelet: no pod's host port is served there. */
  readonly ownTcpPorts?: readonly number[];
  /** Put before each command, e.g. `ip netns exec NAME`. */
  readonly commandPrefix?: readonly string[];
}

export interface ServiceProxy {
  /** Works until the signal aborts; resolves when the last change is applied. Rules stay. Never rejects. */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when the rules of everything that was there at the start are in the kernel. */
  synced(): Promise<void>;
  /** Whether the rules are in place. */
  healthy(): boolean;
  /** How far they are behind. */
  syncState(): SyncState;
  /** Whether load balancers may choose this node: it is neither being deleted nor about to be. As last seen; true before. */
  nodeEligible(): boolean;
  /** Removes all rules. Call after `start` has resolved, or without it. */
  remove(): Promise<void>;
}

/** Makes the proxy; it touches nothing before `start`. Its informers must be started by the caller. */
export function createServiceProxy(deps: ServiceProxyDeps, config: ServiceProxyConfig): ServiceProxy {
  const { platform } = deps;
  const log = platform.log.child('proxy');
  const metrics = createProxyMetrics(platform.metrics, config.mode === 'iptables' ? 'iptables' : 'nftables');
  const latencies = createProgrammingLatencies(platform.clock, metrics);
  const progress = createSyncProgress(platform.clock);
  const loopback = createLoopbackHostPorts(log, {
    route: deps.routeLoopback,
    portals: config.mode === 'userspace',
    ownTcpPorts: config.ownTcpPorts,
  });
  const follower = createFollower(deps, config, { metrics, latencies, loopback });
  const cleaner = createFlowCleaner({ exec: platform.exec, log }, config.commandPrefix);
  const applier = createApplier({ ...platform, log }, config, {
    tables: follower.tables,
    commandPrefix: config.commandPrefix,
    async prepare() {
      progress.taken();
      cleaner.add(await follower.update((key, health) => checks.set(key, health)));
      latencies.taken();
      checks.refresh();
      await loopback.routed();
    },
    onStaleFlows: (filters) => cleaner.add(filters),
    onApplied() {
      progress.applied();
      latencies.applied();
      cleaner.flush();
    },
  });
  const checks = createHealthCheckServer(
    { listenHttp: platform.listenHttp, log },
    () => applier.healthy(),
    () => nodePortHosts(follower.tables, platform.net),
  );
  follower.onChange(() => {
    progress.queued();
    applier.kick();
  });
  return {
    async start(signal) {
      if (config.mode !== 'userspace' && wantsLoopbackNodePorts(config.nodePortAddresses ?? []))
        log.warn('--nodeport-addresses includes localhost but localhost NodePorts are not supported in this mode', {
          mode: config.mode,
        });
      try {
        await follower.waitForSync(signal);
      } catch {
        return; // aborted before the caches were filled
      }
      await applier.run(signal);
      await checks.close();
    },
    synced: () => applier.synced,
    healthy: () => applier.healthy(),
    syncState: () => progress.state(),
    nodeEligible: () => follower.nodeEligible(),
    remove: () => applier.remove(),
  };
}

interface Applying {
  readonly tables: readonly Table[];
  readonly commandPrefix?: readonly string[];
  prepare(): Promise<void>;
  onStaleFlows(filters: readonly FlowFilter[]): void;
  onApplied(): void;
}

/** What puts the rules into the kernel in this mode. */
function createApplier(
  deps: ApplierDeps & Pick<Platform, 'crypto' | 'net' | 'datagrams' | 'random'>,
  { mode }: ServiceProxyConfig,
  applying: Applying,
): RuleApplier {
  const { tables, onStaleFlows, ...rest } = applying;
  if (mode === 'nftables') return createNftablesApplier(deps, applying);
  const wanted = ({ services, pods, nodePortRanges: ranges }: Table) => ({
    nodePortRanges: ranges,
    ports: [...services.values()].flatMap(({ ports }) => ports),
    hostPorts: [...pods.values()].flat(),
  });
  if (mode === 'userspace')
    return createUserspaceApplier(deps, {
      ...rest,
      onStaleFlows,
      tables: tables.map((table) => ({ config: table.config, wanted: () => wanted(table) })),
    });
  const sha256 = (text: string): Uint8Array => Buffer.from(deps.crypto.sha256Hex(text), 'hex');
  return createIptablesApplier(deps, {
    ...rest,
    tables: tables.map((table) => ({ config: { ...table.config, sha256 }, wanted: () => wanted(table) })),
  });
}

interface Table extends RuleTable {
  /** As `nodePortRanges` returns it. */
  nodePortRanges: readonly string[] | undefined;
  /** Host ports of this node's pods by pod (key). Kept by the modes that write all rules at once. */
  readonly pods: Map<string, readonly HostPortView[]>;
  readonly config: TableConfig;
  /** Of each service (key) in this family: its ports and slots. */
  readonly services: Map<
    string,
    { readonly ports: readonly ServicePortView[]; readonly slots: ReadonlyMap<string, PortSlots> }
  >;
}

type OnHealth = (key: string, health: Parameters<ReturnType<typeof createHealthCheckServer>['set']>[1]) => void;

interface Follower {
  readonly tables: readonly Table[];
  onChange(listener: () => void): void;
  waitForSync(signal: AbortSignal): Promise<void>;
  /** Recomputes what changed since the last call, with turns for others; resolves to the flows that became stale. */
  update(onHealth: OnHealth): Promise<FlowFilter[]>;
  nodeEligible(): boolean;
}

function createFollower(
  deps: ServiceProxyDeps,
  config: ServiceProxyConfig,
  { loopback, ...measures }: Pick<Watching, 'metrics' | 'latencies'> & { readonly loopback: LoopbackHostPorts },
): Follower {
  const sources: Sources = {
    services: deps.informers.informer(Services),
    slices: deps.informers.informer(EndpointSlices),
    nodes: deps.informers.informer(Nodes),
    pods: deps.informers.informer(Pods, { fieldSelector: `spec.nodeName=${config.nodeName}` }),
  };
  const tables = tablesOf(config, deps.routeLoopback !== undefined);
  const dirty = { services: new Set<string>(), pods: new Set<string>() };
  const pace = createPace(deps.platform.clock);
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
      // Which external addresses a service has depends on where the API server is.
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
          const update = { key, node, isReserved, tables, sources, incremental, pace };
          appendAll(stale, await updateService(update, onHealth));
          const service = sources.services.get(keyOf(key));
          reportLeftOut(key, service, isReserved);
          reportExcess(
            key,
            service,
            service && (externalExcess(service) ?? endpointExcess(service, sources.slices.byIndex(BY_SERVICE, key))),
          );
        }
        for (const key of changed.pods) {
          const pod = sources.pods.get(keyOf(key));
          if (pod !== undefined) loopback.look(key, pod);
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

function tablesOf(config: ServiceProxyConfig, loopbackHostPorts: boolean): Table[] {
  const clusterCidrs = config.clusterCidr.split(',');
  return config.serviceCidr.split(',').flatMap((serviceCidr) => {
    const family = parseCidr(serviceCidr)?.family;
    const clusterCidr = clusterCidrs.find((c) => parseCidr(c)?.family === family);
    if (family === undefined || clusterCidr === undefined) return [];
    const nodePortsRestricted =
      nodePortRanges(config.nodePortAddresses ?? [], { family, node: undefined }) !== undefined;
    const mark = (config.masqueradeMark & 0xffff_0000) >>> 0 || 0x4000_0000;
    return [
      {
        config: {
          family,
          name: config.nftTable,
          clusterCidr,
          serviceCidr,
          mark,
          nodePortsRestricted,
          loopbackHostPorts,
          ownTcpPorts: config.ownTcpPorts,
        },
        nodePortRanges: undefined,
        book: new RuleBook(),
        services: new Map(),
        pods: new Map(),
      },
    ];
  });
}

function updateNodePortRanges(
  tables: readonly Table[],
  { mode, nodePortAddresses = [] }: ServiceProxyConfig,
  node: Node | undefined,
): void {
  for (const table of tables) {
    // A deleted node comes back when its kubelet registers it again: until then everything stays.
    if (node === undefined && table.nodePortRanges !== undefined) continue;
    const ranges = nodePortRanges(nodePortAddresses, { family: table.config.family, node });
    table.nodePortRanges = ranges;
    if (mode === 'nftables') table.book.replace('node', nodePortAddressElements(ranges ?? []));
  }
}

function keyOf(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Keys of services with addresses besides their cluster address. */
function externalServices(services: Informer<Service>): string[] {
  const external = services.list().filter(({ spec }) => spec?.type === 'LoadBalancer' || spec?.externalIPs?.length);
  return external.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
}

interface Update {
  readonly key: string;
  readonly node: NodeView;
  readonly isReserved: IsReserved;
  readonly tables: readonly Table[];
  readonly sources: Sources;
  /** The mode keeps books of elements. */
  readonly incremental: boolean;
  readonly pace: Pace;
}

function updateHostPorts(
  table: Table,
  { key, pod, incremental }: { key: string; pod: Pod | undefined; incremental: boolean },
): void {
  if (incremental) table.book.replace(`pod ${key}`, pod === undefined ? [] : hostPortElements(pod, table.config));
  else if (pod === undefined) table.pods.delete(key);
  else table.pods.set(key, hostPortViews(pod, table.config));
}

async function updateService(update: Update, onHealth: OnHealth): Promise<FlowFilter[]> {
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

/** A service may make hundreds of thousands of elements: each port claims its own, and others have turns between. */
async function updatePorts(
  table: Table,
  { key, node, isReserved, incremental, pace }: Update,
  { service, slices }: { readonly service: Service | undefined; readonly slices: readonly EndpointSlice[] },
): Promise<void> {
  const { family } = table.config;
  const before = table.services.get(key);
  const ports: ServicePortView[] = [];
  const slots = new Map<string, PortSlots>();
  const views = service === undefined ? [] : servicePorts(service, slices, { node, family, isReserved });
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

/** Endpoints that terminate still take traffic, but a load balancer shall send no more here. */
function healthOf(
  service: Service | undefined,
  { key, tables }: { key: string; tables: readonly Table[] },
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
