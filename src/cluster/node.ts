/**
 * One node: kubelet with its container runtime manager, volumes and cgroups, and the pod network's configuration once the
 * node has its range. The kubelet acts as `system:node:NAME` through the client it is given, in-process or over HTTPS
 * alike. Made in one order: cgroups, then kubelet, which makes volumes and runtime with a view of itself.
 */
import type { TokenRequest } from '../api/gen/authentication-v1.ts';
import { Nodes, RuntimeClasses, ServiceAccounts, Services } from '../api/gen/resources.ts';
import type { Principal } from '../api/transport.ts';
import type { Client } from '../client/client.ts';
import { createEventBroadcaster, type EventBroadcaster } from '../client/event-broadcaster.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import { createInformerFactory } from '../client/informer-factory.ts';
import type { InformerFactory } from '../client/informer.ts';
import type { CriRuntime } from '../cri/runtime-service.ts';
import type { PodContainerManager } from '../kubelet/cgroups/pod-container-manager.ts';
import { createPodContainerManager } from '../kubelet/cgroups/create-pod-container-manager.ts';
import type { ContainerRuntime } from '../kubelet/container/runtime.ts';
import { KUBELET_DEFAULTS, type KubeletConfiguration } from '../kubelet/kubelet-configuration.ts';
import type { Kubelet, KubeletCore } from '../kubelet/kubelet-contract.ts';
import { createKubelet } from '../kubelet/kubelet.ts';
import { createContainerRuntime } from '../kubelet/runtime/container-runtime.ts';
import { createObjectCache, type WatchingObjectCache } from '../kubelet/volumes/object-cache.ts';
import type { VolumeManager } from '../kubelet/volumes/volume-manager-contract.ts';
import { createVolumeManager } from '../kubelet/volumes/volume-manager.ts';
import type { HostInfo } from '../platform/host.ts';
import type { Platform } from '../platform/platform.ts';
import type { Instance } from './instance.ts';
import { dnsAddress, type PodNetwork } from './network/pod-network.ts';
import { startNodeUpkeep } from './node-upkeep.ts';
import { preparePod } from './prepare-pod.ts';

/** What a node is made from. */
export interface NodeDeps {
  readonly platform: Platform;
  /** Acts as the node. */
  readonly client: Client;
  readonly cri: CriRuntime;
  readonly network: Pick<PodNetwork, 'setPodCidr'>;
  readonly instance: Instance;
  readonly kubeletPort: number;
  /** Settings that differ from the usual ones. */
  readonly kubelet?: Partial<KubeletConfiguration>;
}

/** Pods' cgroups, to make and to find. */
type NodeCgroups = ReturnType<typeof createPodContainerManager>;

/** A node. */
export interface ClusterNode {
  readonly kubelet: Kubelet;
  readonly podContainers: NodeCgroups;
  readonly informers: InformerFactory;
  /** Resolves once the kubelet's main loop runs. */
  start(signal: AbortSignal): Promise<void>;
  /** Containers keep running. */
  stop(): Promise<void>;
}

interface Parts extends NodeDeps {
  readonly host: HostInfo;
  readonly informers: InformerFactory;
  readonly events: EventBroadcaster;
  readonly recorder: EventRecorder;
  readonly objects: WatchingObjectCache;
  readonly config: KubeletConfiguration;
}

/** Who a node's kubelet is. */
export function nodePrincipal(nodeName: string): Principal {
  return { name: `system:node:${nodeName}`, groups: ['system:nodes', 'system:authenticated'] };
}

/** Puts a node together. Reads facts of the host, starts nothing. */
export async function createClusterNode(deps: NodeDeps): Promise<ClusterNode> {
  const { platform, client, instance } = deps;
  const host = await platform.host.info();
  const sources = { client, clock: platform.clock, random: platform.random, log: platform.log };
  const events = createEventBroadcaster(sources);
  const parts: Parts = {
    ...deps,
    host,
    events,
    informers: createInformerFactory(sources),
    recorder: events.recorderFor('kubelet', instance.nodeName),
    objects: createObjectCache({ client, platform }),
    config: kubeletConfig(deps),
  };
  const { kubelet, podContainers } = assembleKubelet(parts);
  followPodCidr(parts);
  return {
    kubelet,
    podContainers,
    informers: parts.informers,
    async start(signal) {
      events.start(signal);
      parts.informers.start(signal);
      await kubelet.start(signal);
      startNodeUpkeep({ platform, cri: deps.cri, recorder: parts.recorder, nodeName: instance.nodeName }, signal);
    },
    async stop() {
      await kubelet.stop();
      parts.objects.stop();
    },
  };
}

function assembleKubelet(parts: Parts): { kubelet: Kubelet; podContainers: NodeCgroups } {
  const { platform, client, recorder, informers } = parts;
  let core: KubeletCore | undefined;
  const podContainers = podContainerManager(parts, () => core?.pods.getPods() ?? []);
  const kubelet = createKubelet(
    {
      platform,
      client,
      recorder,
      informers,
      preparePod,
      podContainers,
      volumes: (made) => volumeManager(parts, (core = made)),
      runtime: (made, volumes) => containerRuntime(parts, { core: made, volumes, podContainers }),
    },
    parts.config,
  );
  return { kubelet, podContainers };
}

function kubeletConfig({ instance, kubeletPort, kubelet }: NodeDeps): KubeletConfiguration {
  return {
    ...KUBELET_DEFAULTS,
    nodeName: instance.nodeName,
    rootDirectory: instance.kubeletRoot,
    port: kubeletPort,
    clusterDns: [dnsAddress(instance.serviceCidr)],
    clusterDomain: instance.clusterDomain,
    staticPodPath: `${instance.dataDir}/manifests`,
    ...kubelet,
  };
}

function podContainerManager(
  { platform, recorder, host }: Parts,
  activePods: () => ReturnType<KubeletCore['pods']['getPods']>,
): NodeCgroups {
  return createPodContainerManager(
    {
      cgroups: platform.cgroups,
      platform,
      recorder,
      activePods,
      nodeAllocatable: async () => ({ milliCpu: host.cpuCount * 1000, memoryBytes: host.memoryBytes }),
    },
    {
      cgroupRoot: '/',
      cgroupsPerQos: true,
      enforceNodeAllocatable: ['pods'],
      enforceCpuLimits: true,
      cpuQuotaPeriodUs: 100_000,
      hugePageSizesBytes: host.hugePages.map((h) => h.pageSizeBytes),
    },
  );
}

/** What downward API fields tell of the node: as the Node object has it, which starts with what the host has. */
function nodeFacts(
  { informers, host, instance }: Parts,
  core: KubeletCore,
): {
  readonly nodeName: string;
  readonly hostIps: readonly string[];
  readonly allocatable: Readonly<Record<string, string>>;
} {
  const nodes = informers.informer(Nodes, { fieldSelector: `metadata.name=${instance.nodeName}` });
  return {
    nodeName: instance.nodeName,
    get hostIps() {
      return core.nodeIps();
    },
    get allocatable() {
      return (
        nodes.get({ name: instance.nodeName })?.status?.allocatable ?? {
          cpu: String(host.cpuCount),
          memory: String(host.memoryBytes),
        }
      );
    },
  };
}

function volumeManager(parts: Parts, core: KubeletCore): VolumeManager {
  const { platform, client, objects, recorder, instance } = parts;
  const accounts = client.resource(ServiceAccounts);
  const facts = nodeFacts(parts, core);
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
    },
    { kubeletRoot: instance.kubeletRoot },
  );
}

function containerRuntime(
  parts: Parts,
  made: { core: KubeletCore; volumes: VolumeManager; podContainers: PodContainerManager },
): ContainerRuntime {
  const { platform, client, cri, objects, recorder, informers, host, instance, config } = parts;
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
      services: () => services.list(),
      getConfigMap: (namespace, name) => objects.get('ConfigMap', namespace, name),
      getSecret: (namespace, name) => objects.get('Secret', namespace, name),
      runtimeHandler: async (name) => (await client.resource(RuntimeClasses).get({ name })).handler,
    },
    {
      rootDir: instance.kubeletRoot,
      podLogsDir: instance.podLogsRoot,
      node: nodeFacts(parts, core),
      resources: { cgroupVersion: platform.cgroups.version, memoryCapacityBytes: host.memoryBytes },
      clusterDomain: config.clusterDomain,
      clusterDns: config.clusterDns,
    },
  );
}

/** The runtime can make pod networks once the node's range is known and written. */
function followPodCidr({ informers, network, instance, platform }: Parts): void {
  const write = (podCidr: string | undefined): void => {
    if (podCidr === undefined) return;
    network
      .setPodCidr(podCidr)
      .catch((error: unknown) => platform.log.error('cannot write the pod network configuration', { err: error }));
  };
  informers.informer(Nodes, { fieldSelector: `metadata.name=${instance.nodeName}` }).addHandler({
    onAdd: (node) => write(node.spec?.podCIDR),
    onUpdate: (_old, node) => write(node.spec?.podCIDR),
  });
}
