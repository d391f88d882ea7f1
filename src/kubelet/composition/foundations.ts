/** First stage of the kubelet: its memory (pod manager, caches), its pod sources, volumes and runtime. */
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { createPodStarts } from '../metrics/pod-starts.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import type { Informer } from '../../client/informer.ts';
import { createGrpcConnector } from '../../grpc/grpc-connector.ts';
import type { Log } from '../../platform/log.ts';
import { createAllocationManager, type AllocationManager } from '../allocation/allocation-manager.ts';
import { createAllocationState, type AllocationState } from '../allocation/allocation-state.ts';
import { podUid } from '../types/pod-update.ts';
import { nodePodInformer } from '../config/apiserver-source.ts';
import { createPodConfig, type PodConfig } from '../config/pod-config.ts';
import { createSourcesReady, type SourcesReady } from '../config/sources-ready.ts';
import type { ContainerRuntime } from '../container/runtime.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import type { KubeletCore, KubeletDeps } from '../kubelet-contract.ts';
import { findNodeIps } from '../node-status/node-facts.ts';
import { createRuntimeState, type RuntimeState } from '../node-status/runtime-state.ts';
import { createPluginManager, type PluginManager } from '../plugin-manager/plugin-manager.ts';
import { createPodManager, type PodManager } from '../pod/pod-manager.ts';
import { createPodCache, type PodCache } from '../container/pod-cache.ts';
import { createPodDirectories } from '../pod/pod-directories.ts';
import { createResultsManager, type ResultsManager } from '../prober/results-manager.ts';
import { createReasonCache, type ReasonCache } from '../status/reason-cache.ts';
import type { VolumeManager } from '../volumes/volume-manager-contract.ts';
import { createResourceManagers, type ResourceManagers } from './resource-managers.ts';
import { createLateBindings, latePodState, type LateBindings } from './late-bindings.ts';

/** The parts that every later stage uses. */
export interface Foundations {
  readonly deps: KubeletDeps;
  readonly config: KubeletConfiguration;
  readonly log: Log;
  readonly late: LateBindings;
  readonly podManager: PodManager;
  readonly podCache: PodCache;
  readonly managers: ResourceManagers;
  /** Uids of pods whose admission is not decided yet. */
  readonly admitting: Set<string>;
  readonly results: ResultsManager;
  readonly reasonCache: ReasonCache;
  readonly runtimeState: RuntimeState;
  readonly podConfig: PodConfig;
  readonly sourcesReady: SourcesReady;
  readonly core: KubeletCore;
  readonly plugins: PluginManager;
  readonly allocations: AllocationManager;
  readonly allocationState: AllocationState;
  readonly volumes: VolumeManager;
  readonly runtime: ContainerRuntime;
  /** The runtime's own name, which is the scheme of container ids; a default until it has answered. */
  readonly runtimeName: { current: string };
  readonly nodePods: Informer<Pod>;
  readonly nodeInformer: Informer<Node>;
}

/** Makes the first stage. */
export function createFoundations(deps: KubeletDeps, config: KubeletConfiguration): Foundations {
  const late = createLateBindings();
  const podManager = createPodManager();
  const log = deps.platform.log.child('kubelet');
  const results = createResultsManager(log);
  const podConfig = createPodConfig((update) => late.syncLoop.get().configCh(update));
  const sourcesReady = createSourcesReady(podConfig.sources);
  const nodeInformer = deps.informers.informer(Nodes, { fieldSelector: `metadata.name=${config.nodeName}` });
  const allocationState = createAllocationState(
    { files: deps.platform.files, log },
    `${config.rootDirectory}/resized_pods_state`,
  );
  const allocations = createAllocations({ deps, config, late, podManager, nodeInformer, allocationState });
  const { connect, plugins } = createPlugins(deps, config);
  const podCache = createPodCache();
  const admitting = new Set<string>();
  const shared = { deps, config, late, podManager, sourcesReady, podCache, admitting };
  const managers = createResourceManagers({ ...shared, plugins, connect });
  const core: KubeletCore = {
    ...createCore({ deps, config, late, podManager, results, sourcesReady, allocations, nodeInformer }),
    plugins,
    connectGrpc: connect,
    containerDevices: managers.containerDevices,
    withoutCpuQuota: managers.withoutCpuQuota,
    ownNode: () => nodeInformer.get({ name: config.nodeName }),
    nodeStatusChanged: () => late.nodeStatus.get().trigger(),
  };
  const volumes = deps.volumes(core);
  return {
    ...shared,
    log,
    allocations,
    allocationState,
    managers,
    results,
    reasonCache: createReasonCache(),
    runtimeState: createRuntimeState(deps.platform.clock),
    podConfig,
    core,
    plugins,
    volumes,
    runtime: late.runtime.bind(deps.runtime(core, volumes)),
    runtimeName: { current: 'containerd' },
    nodePods: nodePodInformer(deps.informers, config.nodeName),
    nodeInformer,
  };
}

function createPlugins(
  deps: KubeletDeps,
  config: KubeletConfiguration,
): { readonly connect: NonNullable<KubeletDeps['connectGrpc']>; readonly plugins: PluginManager } {
  const connect = deps.connectGrpc ?? createGrpcConnector(deps.platform.clock);
  const folder = `${config.rootDirectory}/plugins_registry`;
  return { connect, plugins: createPluginManager({ platform: deps.platform, connect }, folder) };
}

function createAllocations(
  parts: Pick<Foundations, 'deps' | 'config' | 'late' | 'podManager' | 'nodeInformer' | 'allocationState'>,
): AllocationManager {
  const { deps, config, late, podManager, nodeInformer, allocationState } = parts;
  return createAllocationManager({
    state: allocationState,
    recorder: deps.recorder,
    node: () => nodeInformer.get({ name: config.nodeName }),
    activePods: () =>
      podManager
        .getPods()
        .filter(
          (pod) => !isPodPhaseTerminal(pod.status?.phase) && !late.podWorkers.get().isPodKnownTerminated(podUid(pod)),
        ),
    fixed: (pod) => fixedByManagers(pod, config),
    ...(config.cgroups.swapBehavior === 'LimitedSwap'
      ? { memoryFixed: 'In-place resize of containers with swap is not supported' }
      : {}),
  });
}

/** Why a pod cannot be resized in place: guaranteed pods keep exclusively assigned processors and memory. */
function fixedByManagers(pod: Pod, config: KubeletConfiguration): string | undefined {
  if (podQosClass(pod) !== 'Guaranteed') return undefined;
  for (const [is, name] of [
    [config.cpuManager.policy === 'static', 'CPU Manager static policy'],
    [config.memoryManager.policy === 'Static', 'Memory Manager static policy'],
  ] as const)
    if (is) return `Resize is infeasible for Guaranteed Pods alongside ${name}`;
  return undefined;
}

/** Node addresses set by a cloud controller; undefined before they are set. */
function cloudAddresses({
  nodeInformer,
  config,
}: Pick<Foundations, 'nodeInformer' | 'config'>): readonly string[] | undefined {
  const addresses = nodeInformer.get({ name: config.nodeName })?.status?.addresses ?? [];
  const internal = addresses.flatMap(({ type, address }) => (type === 'InternalIP' ? [address] : []));
  return internal.length === 0 ? undefined : internal;
}

function createCore(
  parts: Pick<
    Foundations,
    'deps' | 'config' | 'late' | 'podManager' | 'results' | 'sourcesReady' | 'allocations' | 'nodeInformer'
  >,
): Omit<
  KubeletCore,
  'plugins' | 'containerDevices' | 'withoutCpuQuota' | 'connectGrpc' | 'ownNode' | 'nodeStatusChanged'
> {
  const { config, late, podManager, sourcesReady } = parts;
  const { platform } = parts.deps;
  const nodeIps = findNodeIps(platform, config.nodeIps);
  return {
    probeResults: parts.results,
    pods: podManager,
    podState: latePodState(late.podWorkers),
    podStarts: createPodStarts(platform),
    allocations: parts.allocations,
    directories: createPodDirectories(platform.files, config.rootDirectory),
    nodeIps: () => (config.externalCloud ? (cloudAddresses(parts) ?? nodeIps) : nodeIps),
    podsWithRuntime: () => late.podWorkers.get().podsWithRuntime(podManager.getPods()),
    sourcesReady: () => sourcesReady.allReady(),
  };
}
