/**
 * One node: kubelet with its container runtime manager, volumes and cgroups, and the pod network's configuration once the
 * node has its range. The kubelet acts as `system:node:NAME` through the client it is given, in-process or over HTTPS
 * alike. Made in one order: cgroups, then kubelet, which makes volumes and runtime with a view of itself.
 */
import type { TokenRequest } from '../../api/gen/authentication-v1.ts';
import type { Node } from '../../api/gen/core-v1.ts';
import { Nodes, RuntimeClasses, ServiceAccounts, Services } from '../../api/gen/resources.ts';
import { quantityMilliValue, quantityValue } from '../../api/quantity.ts';
import { createBackoff } from '../../base/backoff.ts';
import type { Client } from '../../client/client.ts';
import { createEventBroadcaster, type EventBroadcaster } from '../../client/event-broadcaster.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import type { InformerFactory } from '../../client/informer.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import type { PodContainerManager } from '../../kubelet/cgroups/pod-container-manager.ts';
import { createPodContainerManager } from '../../kubelet/cgroups/create-pod-container-manager.ts';
import type { ContainerRuntime } from '../../kubelet/container/runtime.ts';
import { KUBELET_DEFAULTS, type KubeletConfiguration } from '../../kubelet/kubelet-configuration.ts';
import type { CredentialProviders } from '../../kubelet/images/credential-providers.ts';
import { createPullVerification, type PullVerification } from '../../kubelet/images/pull-verification.ts';
import type { Kubelet, KubeletCore, KubeletDeps } from '../../kubelet/kubelet-contract.ts';
import { createKubelet } from '../../kubelet/kubelet.ts';
import { measureCgroups } from '../../kubelet/metrics/cgroup-operations.ts';
import { measureRuntime } from '../../kubelet/metrics/runtime-operations.ts';
import { createContainerRuntime } from '../../kubelet/runtime/container-runtime.ts';
import { createStatsProvider } from '../../kubelet/stats/create-stats-provider.ts';
import type { StatsProvider } from '../../kubelet/stats/stats-provider.ts';
import { createObjectCache, type WatchingObjectCache } from '../../kubelet/volumes/object-cache.ts';
import { createCsiNodeObject } from '../../kubelet/volumes/csi/csi-node-object.ts';
import type { VolumeManager } from '../../kubelet/volumes/volume-manager-contract.ts';
import { createVolumeManager } from '../../kubelet/volumes/volume-manager.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { SpanAttributes, Tracer } from '../../platform/tracing.ts';
import { createTracing } from '../tracing/create-tracing.ts';
import type { HostInfo } from '../../platform/host.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';
import { instanceDocument } from './instance-kubelet.ts';
import { dnsAddress, type PodNetwork } from '../network/pod-network.ts';
import { createNodeUpkeep, type NodeUpkeep } from './node-upkeep.ts';
import { preparePod } from './prepare-pod.ts';
import { background } from '../../platform/unexpected.ts';

export interface NodeDeps {
  readonly platform: Platform;
  /** Acts as the node. */
  readonly client: Client;
  /** For the lease, for events: clients with limits of their own. `client` when absent. */
  readonly heartbeatClient?: Client;
  readonly eventClient?: Client;
  readonly cri: CriRuntime;
  /** The pod network, where it is ours to configure. */
  readonly network?: Pick<PodNetwork, 'setPodCidr'>;
  readonly config: KubeletConfiguration;
  /** False: the CSINode is made by the first driver. Default true. */
  readonly csiNodeFirst?: boolean;
  /** Reports the machine's shutdown, and the pods' grace periods. */
  readonly shutdown?: NonNullable<KubeletDeps['shutdown']>;
  /** Calls plugins behind their sockets, and health services of pods. The machine's own when absent. */
  readonly connectGrpc?: NonNullable<KubeletDeps['connectGrpc']>;
  /** Programs of the node that know credentials of registries. */
  readonly credentialProviders?: CredentialProviders;
}

/** Pods' cgroups, to make and to find. */
type NodeCgroups = ReturnType<typeof createPodContainerManager>;

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
  /** Containers keep running. */
  stop(): Promise<void>;
}

interface NodeParts extends NodeDeps {
  readonly host: HostInfo;
  readonly informers: InformerFactory;
  readonly events: EventBroadcaster;
  readonly recorder: EventRecorder;
  readonly objects: WatchingObjectCache;
  readonly upkeep: NodeUpkeep;
  readonly verification?: PullVerification;
  readonly tracer: Tracer | undefined;
}

/** Puts a node together. Reads facts of the host, starts nothing. */
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

/** The node's CSINode is there before any driver is, as upstream's. A driver that comes first makes it, too. */
async function initializeCsiNode({ platform, client, config }: NodeParts, kubelet: Kubelet, signal: AbortSignal) {
  const backoff = createBackoff({ initialMs: 100, maxMs: 60_000 });
  const csiNode = createCsiNodeObject(client, config.nodeName);
  await kubelet.registered;
  while (!signal.aborted) {
    try {
      return await csiNode.initialize();
    } catch (error) {
      if (signal.aborted) return;
      platform.log.warn('Failed to initialize CSINode, will retry', { node: config.nodeName, err: error });
    }
    await sleepUnlessAborted(platform.clock, backoff.nextMs(), signal);
  }
}

/** How upstream's kubelet names itself in traces. */
function kubeletResource({ hostname }: HostInfo): SpanAttributes {
  return { 'service.name': 'kubelet', 'host.name': hostname };
}

/** Verifies pods' access to present images, if configured. */
function imageVerification({ platform, cri, config }: NodeDeps): Pick<NodeParts, 'verification'> {
  const { verification } = config.images;
  if (verification === undefined) return {};
  const deps = { ...platform, log: platform.log.child('image-pulls'), images: cri.images };
  const directory = `${config.rootDirectory}/image_manager`;
  return { verification: createPullVerification(deps, { ...verification, directory }) };
}

/** Without an API server events go to the log alone. */
function eventSources({
  platform,
  client,
  eventClient,
  config,
}: NodeDeps): Parameters<typeof createEventBroadcaster>[0] {
  const { clock, random, log } = platform;
  return { clock, random, log, client: config.hasApiServer ? (eventClient ?? client) : undefined };
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

function podContainerManager(
  { platform, recorder, host, config }: NodeParts,
  core: () => KubeletCore | undefined,
): NodeCgroups {
  const { cgroups } = config;
  return createPodContainerManager(
    {
      cgroups: measureCgroups(platform.cgroups, platform),
      platform,
      recorder,
      activePods: () => core()?.pods.getPods() ?? [],
      withoutCpuQuota: (pod) => core()?.withoutCpuQuota(pod) ?? false,
      nodeAllocatable: async () => nodeAllocatable(host, config),
      nodeRef: { apiVersion: 'v1', kind: 'Node', name: config.nodeName, uid: config.nodeName },
    },
    {
      cgroupRoot: cgroups.root,
      cgroupsPerQos: cgroups.perQos,
      enforceNodeAllocatable: cgroups.enforceNodeAllocatable,
      reserved: {
        system: { cgroup: cgroups.systemReservedCgroup, amounts: config.systemReserved },
        kube: { cgroup: cgroups.kubeReservedCgroup, amounts: config.kubeReserved },
      },
      qosReservedMemoryPercent: cgroups.qosReservedMemoryPercent,
      enforceCpuLimits: cgroups.cpuCfsQuota,
      cpuQuotaPeriodUs: cgroups.cpuCfsQuotaPeriodUs,
      podPidsLimit: cgroups.podPidsLimit > 0 ? cgroups.podPidsLimit : undefined,
      hugePageSizesBytes: host.hugePages.map((h) => h.pageSizeBytes),
    },
  );
}

/** What all pods together may use: without what is reserved, with what hard eviction thresholds keep free. */
function nodeAllocatable(
  host: HostInfo,
  { systemReserved, kubeReserved }: KubeletConfiguration,
): { milliCpu: number; memoryBytes: number } {
  const reserved = (name: string, read: (text: string) => number): number =>
    [systemReserved, kubeReserved].reduce((sum, amounts) => sum + read(amounts[name] ?? '0'), 0);
  return {
    milliCpu: Math.max(0, host.cpuCount * 1000 - reserved('cpu', quantityMilliValue)),
    memoryBytes: Math.max(0, host.memoryBytes - reserved('memory', quantityValue)),
  };
}

/** The node in downward API fields: by the Node object, before registration by the host. */
function nodeFacts(
  { informers, host, config }: NodeParts,
  core: KubeletCore,
): {
  readonly nodeName: string;
  readonly hostIps: readonly string[];
  readonly allocatable: Readonly<Record<string, string>>;
} {
  const nodes = informers.informer(Nodes, { fieldSelector: `metadata.name=${config.nodeName}` });
  return {
    nodeName: config.nodeName,
    get hostIps() {
      return core.nodeIps();
    },
    get allocatable() {
      return (
        nodes.get({ name: config.nodeName })?.status?.allocatable ?? {
          cpu: String(host.cpuCount),
          memory: String(host.memoryBytes),
        }
      );
    },
  };
}

function volumeManager(node: NodeParts, core: KubeletCore): VolumeManager {
  const { platform, client, objects, recorder, config } = node;
  const accounts = client.resource(ServiceAccounts);
  const facts = nodeFacts(node, core);
  return createVolumeManager(
    {
      platform,
      client,
      objects,
      recorder,
      requestToken: (namespace, name, request) =>
        accounts.createSubresource<TokenRequest>({ namespace, name }, 'token', request),
      podsLister: core.podsWithRuntime,
      sourcesReady: core.sourcesReady,
      node: () => facts,
      ownNode: core.ownNode,
      nodeStatusChanged: core.nodeStatusChanged,
      plugins: core.plugins,
      connectGrpc: core.connectGrpc,
    },
    {
      kubeletRoot: config.rootDirectory,
      nodeName: config.nodeName,
      attachesItself: config.volumes.attachesItself,
      settings: config.volumes,
    },
  );
}

function containerRuntime(
  node: NodeParts,
  made: { core: KubeletCore; volumes: VolumeManager; podContainers: PodContainerManager },
): ContainerRuntime {
  const { platform, client, cri, objects, recorder, informers } = node;
  const { core, volumes, podContainers } = made;
  const services = informers.informer(Services);
  return createContainerRuntime(
    {
      cri,
      platform,
      recorder,
      volumes,
      podContainers,
      probeResults: core.probeResults,
      podStates: core.podState,
      actuated: core.allocations,
      devices: core.containerDevices,
      imagePulled: core.podStarts.pulled,
      credentialProviders: node.credentialProviders,
      verification: node.verification,
      services: () => services.list(),
      getConfigMap: (namespace, name) => objects.get('ConfigMap', namespace, name),
      getSecret: (namespace, name) => objects.get('Secret', namespace, name),
      runtimeHandler: async (name) => (await client.resource(RuntimeClasses).get({ name })).handler,
    },
    runtimeConfig(node, core),
  );
}

function runtimeConfig(node: NodeParts, core: KubeletCore): Parameters<typeof createContainerRuntime>[1] {
  const { platform, host, config } = node;
  const { cgroups } = config;
  return {
    rootDir: config.rootDirectory,
    podLogsDir: config.podLogsDir,
    node: nodeFacts(node, core),
    resources: {
      cgroupVersion: platform.cgroups.version,
      memoryCapacityBytes: host.memoryBytes,
      hugePageSizesBytes: host.hugePages.map(({ pageSizeBytes }) => pageSizeBytes),
      cpuCfsQuota: cgroups.cpuCfsQuota,
      cpuCfsQuotaPeriodUs: cgroups.cpuCfsQuotaPeriodUs,
      singleProcessOomKill: cgroups.singleProcessOomKill,
      swapController: platform.cgroups.version === 2 && host.swapBytes > 0,
      swapBehavior: cgroups.swapBehavior,
      swapCapacityBytes: host.swapBytes,
      memoryQos: cgroups.memoryQos,
    },
    clusterDomain: config.clusterDomain,
    clusterDns: config.clusterDns,
    resolvConf: config.resolvConf,
    seccompDefault: config.seccompDefault,
    crashLoopBackOff: config.crashLoopBackOff,
    images: config.images,
    idsPerPod: config.userNamespaceIdsPerPod,
  };
}

/** The runtime can make pod networks once the node's range is known and written. */
function followPodCidr({ informers, network, config, platform }: NodeParts): void {
  if (network === undefined) return;
  const write = (podCidr: string | undefined): void => {
    if (podCidr === undefined) return;
    network
      .setPodCidr(podCidr)
      .catch((error: unknown) => platform.log.error('cannot write the pod network configuration', { err: error }));
  };
  informers.informer(Nodes, { fieldSelector: `metadata.name=${config.nodeName}` }).addHandler({
    onAdd: (node) => write(podRanges(node)),
    onUpdate: (_old, node) => write(podRanges(node)),
  });
}

function podRanges({ spec }: Pick<Node, 'spec'>): string | undefined {
  return spec?.podCIDRs?.join() ?? spec?.podCIDR;
}
