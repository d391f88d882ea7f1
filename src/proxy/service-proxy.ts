/**
 * The service proxy of one node: follows Services, EndpointSlices, this node and its pods, keeps what they want in the rule
 * books and lets the applier put that into nftables. Upstream: pkg/proxy/nftables.
 *
 * Differs on purpose: no chains per service (see chains.ts), a change is in the kernel within milliseconds instead of once a
 * second, host ports of pods are rules here instead of a CNI plugin per pod. As with upstream's nftables proxy, node ports
 * are not served on loopback addresses.
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
   * Has packets from loopback addresses of this host routed to pods, and those of everybody else kept from loopback
   * addresses, which holds from before the first call. Absent: host ports of loopback addresses are not served.
   */
  readonly routeLoopback?: () => Promise<void>;
  /** Records events about services that are too large. Absent: they are only logged. */
  readonly recorder?: EventRecorder;
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
        return; // aborted before the caches were filled
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
