/**
 * One node: the kubelet with its container runtime manager, volumes and cgroups, and the CNI configuration once the
 * node has its pod range. The kubelet acts as `system:node:NAME` through the client it is given, in-process or over
 * HTTPS. The parts are created in this order: cgroups, then the kubelet, which creates volumes and runtime from its
 * core.
 */
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import type { InformerFactory } from '../../client/informer.ts';
import { createPullVerification } from '../../kubelet/images/pull-verification.ts';
import type { KubeletConfiguration } from '../../kubelet/kubelet-configuration.ts';
import type { Kubelet, KubeletCore } from '../../kubelet/kubelet-contract.ts';
import { KUBELET_DEFAULTS } from '../../kubelet/kubelet-defaults.ts';
import { createKubelet } from '../../kubelet/kubelet.ts';
import { measureRuntime } from '../../kubelet/metrics/runtime-operations.ts';
import { createStatsProvider } from '../../kubelet/stats/create-stats-provider.ts';
import type { StatsProvider } from '../../kubelet/stats/stats-provider.ts';
import { createObjectCache } from '../../kubelet/volumes/object-cache.ts';
import type { HostInfo } from '../../platform/host.ts';
import type { SpanAttributes } from '../../platform/tracing.ts';
import { background } from '../../platform/unexpected.ts';
import type { Instance } from '../instance/instance.ts';
import { dnsAddress } from '../network/pod-network.ts';
import { createTracing } from '../tracing/create-tracing.ts';
import { initializeCsiNode } from './csi-node.ts';
import { instanceDocument } from './instance-kubelet.ts';
import { type NodeCgroups, podContainerManager } from './node-cgroups.ts';
import type { NodeDeps, NodeParts } from './node-parts.ts';
import { containerRuntime, volumeManager } from './node-runtime.ts';
import { createNodeUpkeep } from './node-upkeep.ts';
import { followPodCidr } from './pod-network.ts';
import { preparePod } from './prepare-pod.ts';

export interface ClusterNode {
  readonly config: KubeletConfiguration;
  readonly kubelet: Kubelet;
  readonly podContainers: NodeCgroups;
  readonly stats: StatsProvider;
  readonly informers: InformerFactory;
  /** Resolves once the kubelet's main loop runs. */
  start(signal: AbortSignal): Promise<void>;
  /** Records a warning event of the node. */
  announce(reason: 'KeelsonRestarted', message: string): void;
  /** Stops the kubelet; containers keep running. */
  stop(): Promise<void>;
}

/** Composes a node. Reads facts about the host but starts nothing. */
export async function createClusterNode(deps: NodeDeps): Promise<ClusterNode> {
  const { platform, client, config } = deps;
  const cri = measureRuntime(deps.cri, platform);
  const host = await platform.host.info();
  const sources = { client, clock: platform.clock, random: platform.random, log: platform.log };
  const events = createEventBroadcaster(eventSources(deps));
  const recorder = events.recorderFor('kubelet', config.nodeName);
  const verification = imageVerification(deps);
  const tracing = config.tracing && createTracing(platform, config.tracing, kubeletResource(host));
  const node: NodeParts = {
    ...deps,
    cri,
    ...verification,
    host,
    events,
    informers: createInformerFactory(sources),
    recorder,
    upkeep: createNodeUpkeep({ platform, cri, recorder, ...verification, config }),
    objects: createObjectCache({ client, platform }),
    tracer: tracing?.tracer,
  };
  const { kubelet, podContainers, stats } = assembleKubelet(node);
  followPodCidr(node);
  return {
    config,
    kubelet,
    podContainers,
    stats,
    informers: node.informers,
    async start(signal) {
      events.start(signal);
      if (config.hasApiServer) node.informers.start(signal);
      await kubelet.start(signal);
      node.upkeep.start(signal);
      if (config.hasApiServer && deps.csiNodeFirst !== false)
        background(platform.log, 'the CSINode could not be made', initializeCsiNode(node, kubelet, signal));
    },
    announce(reason, message) {
      const { nodeName } = config;
      recorder.event({ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeName }, 'Warning', reason, message);
    },
    async stop() {
      await kubelet.stop();
      await tracing?.stop();
      node.objects.stop();
    },
  };
}

/** The resource attributes of upstream's kubelet in traces. */
function kubeletResource({ hostname }: HostInfo): SpanAttributes {
  return { 'service.name': 'kubelet', 'host.name': hostname };
}

/** Verifies that pods may use images already present on the node, if configured. */
function imageVerification({ platform, cri, config }: NodeDeps): Pick<NodeParts, 'verification'> {
  const { verification } = config.images;
  if (verification === undefined) return {};
  const deps = { ...platform, log: platform.log.child('image-pulls'), images: cri.images };
  const directory = `${config.rootDirectory}/image_manager`;
  return { verification: createPullVerification(deps, { ...verification, directory }) };
}

/**
 * The event filter remembers events of four times the pods that fit on the node, so that events of deleted pods are
 * not repeated.
 */
const EVENTS_OF_PODS = 4;
const MIN_REMEMBERED_OBJECTS = 128;

/** Without an API server events are only logged. */
function eventSources({
  platform,
  client,
  eventClient,
  config,
}: NodeDeps): Parameters<typeof createEventBroadcaster>[0] {
  const { clock, random, log } = platform;
  const rememberedObjects = Math.max(MIN_REMEMBERED_OBJECTS, EVENTS_OF_PODS * config.maxPods);
  return { clock, random, log, client: config.hasApiServer ? (eventClient ?? client) : undefined, rememberedObjects };
}

function assembleKubelet(node: NodeParts): Pick<ClusterNode, 'kubelet' | 'podContainers' | 'stats'> {
  const { platform, client, heartbeatClient, recorder, informers } = node;
  let core: KubeletCore | undefined;
  const podContainers = podContainerManager(node, () => core);
  const kubelet: Kubelet = createKubelet(
    {
      platform,
      client,
      heartbeatClient,
      recorder,
      informers,
      preparePod,
      podContainers,
      shutdown: node.shutdown,
      connectGrpc: node.connectGrpc,
      tracer: node.tracer,
      resources: {
        nodeStats: () => stats.node(),
        summary: () => stats.summary({ withoutPressure: true }),
        removeUnusedImages: node.upkeep.removeUnusedImages,
      },
      volumes: (made) => volumeManager(node, (core = made)),
      runtime: (made, volumes) => containerRuntime(node, { core: made, volumes, podContainers }),
    },
    node.config,
  );
  const stats = createStatsProvider(
    { platform, cri: node.cri, host: kubelet.host, volumes: kubelet.volumes, podCgroups: podContainers },
    {
      kubeletRoot: node.config.rootDirectory,
      podLogsDir: node.config.podLogsDir,
      volumeStatsPeriodMs: node.config.volumeStatsPeriodMs,
    },
  );
  return { kubelet, podContainers, stats };
}

/** The settings of an instance's own node. */
export function instanceNodeConfig(
  instance: Instance,
  kubeletPort: number,
  changes: Partial<KubeletConfiguration> = {},
): KubeletConfiguration {
  return {
    ...KUBELET_DEFAULTS,
    nodeName: instance.nodeName,
    rootDirectory: instance.kubeletRoot,
    podLogsDir: instance.podLogsRoot,
    localPathRoot: `${instance.dataDir}/local-path`,
    port: kubeletPort,
    clusterDns: [dnsAddress(instance.serviceCidr)],
    clusterDomain: instance.clusterDomain,
    staticPodPath: `${instance.dataDir}/pod-manifests`,
    published: () => instanceDocument({ instance, port: kubeletPort }),
    ...changes,
  };
}
