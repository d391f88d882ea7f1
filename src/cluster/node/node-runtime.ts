/** A node's volumes and container runtime manager, which use the kubelet's core. */
import type { TokenRequest } from '../../api/gen/authentication-v1.ts';
import { Nodes, RuntimeClasses, ServiceAccounts, Services } from '../../api/gen/resources.ts';
import type { PodContainerManager } from '../../kubelet/cgroups/pod-container-manager.ts';
import type { ContainerRuntime } from '../../kubelet/container/runtime.ts';
import type { KubeletCore } from '../../kubelet/kubelet-contract.ts';
import { createContainerRuntime } from '../../kubelet/runtime/container-runtime.ts';
import type { VolumeManager } from '../../kubelet/volumes/volume-manager-contract.ts';
import { createVolumeManager } from '../../kubelet/volumes/volume-manager.ts';
import type { NodeParts } from './node-parts.ts';

/**
 * The node's addresses and resources for downward API fields: from the Node object, and from the host before
 * registration.
 */
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

export function volumeManager(node: NodeParts, core: KubeletCore): VolumeManager {
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

export function containerRuntime(
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
