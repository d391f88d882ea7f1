/**
 * The service proxy of one node: follows Services, EndpointSlices, this node and its pods, computes their rules, and
 * an applier writes these into the kernel. Upstream: pkg/proxy/nftables.
 *
 * Differs on purpose: no chains per service (see chains.ts), a change is in the kernel within milliseconds instead of
 * once a second, host ports of pods are rules instead of a CNI plugin per pod. As with upstream's nftables proxy,
 * node ports are not served on loopback addresses.
 */
import type { EventRecorder } from '../client/event-recorder.ts';
import type { InformerFactory } from '../client/informer.ts';
import type { Platform } from '../platform/platform.ts';
import { createHealthCheckServer } from './health-check-server.ts';
import { createLoopbackHostPorts } from './loopback-host-ports.ts';
import { createProgrammingLatencies } from './programming-latency.ts';
import { createProxyMetrics } from './proxy-metrics.ts';
import { nodePortHosts, wantsLoopbackNodePorts } from './node-port-addresses.ts';
import { createFlowCleaner } from './conntrack.ts';
import { createSyncProgress, type SyncState } from './sync-progress.ts';
import { createApplier } from './create-applier.ts';
import { createChangeTracker } from './change-tracker.ts';
import type { ServiceProxyConfig } from './proxy-config.ts';

export interface ServiceProxyDeps {
  /** Services, EndpointSlices and Nodes of the cluster, Pods of this node. The owner of the factory starts them. */
  readonly informers: InformerFactory;
  readonly platform: Pick<
    Platform,
    'exec' | 'clock' | 'log' | 'metrics' | 'listenHttp' | 'crypto' | 'net' | 'datagrams' | 'random'
  >;
  /**
   * Routes packets from loopback addresses of this host to pods, and blocks others' packets to loopback addresses.
   * Absent: host ports of loopback addresses are not served.
   */
  readonly routeLoopback?: () => Promise<void>;
  /** Records events about services that are too large. Absent: they are only logged. */
  readonly recorder?: EventRecorder;
}

export interface ServiceProxy {
  /** Runs until the signal aborts; resolves when the last change is applied. Rules remain. Never rejects. */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when the rules of all initial objects are in the kernel. */
  synced(): Promise<void>;
  /** Whether the last transaction succeeded. */
  healthy(): boolean;
  /** How far the rules are behind the objects. */
  syncState(): SyncState;
  /** Whether load balancers may use this node: it is not being deleted, now or soon. True while unknown. */
  nodeEligible(): boolean;
  /** Removes all rules. Call after `start` has resolved, or without it. */
  remove(): Promise<void>;
}

/** Nothing changes before `start`. The caller starts the informers. */
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
  const tracker = createChangeTracker(deps, config, { metrics, latencies, loopback });
  const cleaner = createFlowCleaner({ exec: platform.exec, log }, config.commandPrefix);
  const applier = createApplier({ ...platform, log }, config, {
    tables: tracker.tables,
    commandPrefix: config.commandPrefix,
    async prepare() {
      progress.taken();
      cleaner.add(await tracker.update((key, health) => checks.set(key, health)));
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
    () => nodePortHosts(tracker.tables, platform.net),
  );
  tracker.onChange(() => {
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
        await tracker.waitForSync(signal);
      } catch {
        return; // aborted before the caches were synced
      }
      await applier.run(signal);
      await checks.close();
    },
    synced: () => applier.synced,
    healthy: () => applier.healthy(),
    syncState: () => progress.state(),
    nodeEligible: () => tracker.nodeEligible(),
    remove: () => applier.remove(),
  };
}
