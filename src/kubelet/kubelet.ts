/**
 * The kubelet, put together: construct (no I/O, no timers) → start → stop. Upstream: NewMainKubelet, startKubelet and Run
 * in cmd/kubelet and pkg/kubelet/kubelet.go.
 *
 * Stopping leaves the containers as they are; the next start finds them by its first relist, restarts none, and kills
 * nothing unknown before every pod source has been heard.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import { Nodes } from '../api/gen/resources.ts';
import { podQosClass } from '../api/pod-qos.ts';
import type { Client } from '../client/client.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import type { Informer, InformerFactory } from '../client/informer.ts';
import type { Platform } from '../platform/platform.ts';
import { canAdmitPod } from './admission.ts';
import type { PodContainerManager } from './cgroups/pod-container-manager.ts';
import { nodePodInformer, startApiserverSource } from './config/apiserver-source.ts';
import { createPodConfig } from './config/pod-config.ts';
import { createSourcesReady } from './config/sources-ready.ts';
import type { PreparePod } from './config/static-pod.ts';
import { startStaticSources } from './config/static-sources.ts';
import { containersToDelete, deleteContainers } from './container-deletor.ts';
import type { ContainerRuntime } from './container/runtime.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { createSyncLoop, type SyncLoop } from './kubelet-sync-loop.ts';
import { runLeaseController } from './node-status/lease-controller.ts';
import { findNodeIps } from './node-status/node-facts.ts';
import { createNodeStatusManager, type NodeStatusManager } from './node-status/node-status-manager.ts';
import { createRuntimeMonitor } from './node-status/runtime-monitor.ts';
import { createRuntimeState } from './node-status/runtime-state.ts';
import { startEventedPleg } from './pleg/evented-pleg.ts';
import { createGenericPleg } from './pleg/generic-pleg.ts';
import { createMirrorClient } from './pod/mirror-client.ts';
import { createMirrorReconciler } from './pod/mirror-reconciler.ts';
import { createPodManager, type PodManagerView } from './pod/pod-manager.ts';
import { createPodCache } from './pod-cache.ts';
import { createPodCleanups } from './pod-cleanup.ts';
import { createPodDirectories, type PodDirectories } from './pod-directories.ts';
import { createPodWorkers } from './pod-workers/pod-workers.ts';
import type { PodStateProvider, PodSyncer, PodWorkers } from './pod-workers/pod-syncer.ts';
import { createProbeManager } from './prober/prober-manager.ts';
import { createProber } from './prober/prober.ts';
import { createResultsManager } from './prober/results-manager.ts';
import type { ProbeResults, ProbeUpdate } from './prober/results.ts';
import { createPullSecrets } from './pull-secrets.ts';
import type { KubeletHost } from './server/host.ts';
import { createReasonCache } from './status/reason-cache.ts';
import { createStatusGenerator } from './status/status-generator.ts';
import { createStatusManager } from './status/status-manager.ts';
import { activePods, createSyncHandlers } from './sync-handlers.ts';
import { createSyncPod, type SyncPodDeps } from './sync-pod.ts';
import { createTerminationSyncs } from './sync-terminating-pod.ts';
import { isStaticPod, podName, podNamespace, podUid } from './types/pod-update.ts';
import type { VolumeManager } from './volumes/volume-manager-contract.ts';
import { createWorkQueue } from './work-queue.ts';

/** What volumes and the runtime manager may see of the core. Usable from construction on. */
export interface KubeletCore {
  readonly probeResults: ProbeResults;
  /** The pods that should run here. */
  readonly pods: PodManagerView;
  readonly podState: PodStateProvider;
  readonly directories: PodDirectories;
  readonly nodeIps: () => readonly string[];
  /**
   * Pods whose containers run or may run, also those no longer configured that still end: what is theirs (volumes, cgroups)
   * must stay.
   */
  readonly podsWithRuntime: () => readonly Pod[];
  /** Every pod source has been heard: pods not known now do not belong here. */
  readonly sourcesReady: () => boolean;
}

/** What the kubelet is made from. Volumes and runtime are made with a view of the core, which they need and which needs them. */
export interface KubeletDeps {
  readonly platform: Platform;
  readonly client: Client;
  /** For the lease; `client` when absent. */
  readonly heartbeatClient?: Client;
  readonly recorder: EventRecorder;
  readonly informers: InformerFactory;
  readonly podContainers: PodContainerManager;
  readonly volumes: (core: KubeletCore) => VolumeManager;
  readonly runtime: (core: KubeletCore, volumes: VolumeManager) => ContainerRuntime;
  /** Defaults and validates a pod read from a file or URL, as the API server would; throws what is wrong. */
  readonly preparePod: PreparePod;
}

/** A kubelet. */
export interface Kubelet {
  /** Begins; resolves once the main loop runs. What is slow (registration, first relist) goes on behind. Informers must be started by the caller. */
  start(signal: AbortSignal): Promise<void>;
  /** Ends everything; resolves when no sync runs any more. Containers keep running. */
  stop(): Promise<void>;
  readonly host: KubeletHost;
  readonly core: KubeletCore;
  readonly runtime: ContainerRuntime;
  readonly volumes: VolumeManager;
  /** Resolves when the node's first status is in the API. */
  readonly registered: Promise<void>;
}

/** Puts a kubelet together. */
export function createKubelet(deps: KubeletDeps, config: KubeletConfiguration): Kubelet {
  const { platform, client, recorder } = deps;
  const { clock } = platform;
  const log = platform.log.child('kubelet');
  const nodeIps = findNodeIps(platform, config.nodeIps);

  const podManager = createPodManager();
  const podCache = createPodCache();
  const results = createResultsManager();
  const reasonCache = createReasonCache();
  const runtimeState = createRuntimeState(clock);
  const directories = createPodDirectories(platform.files, config.rootDirectory);
  const podState: PodStateProvider = lateBound(() => podWorkers);
  const core: KubeletCore = {
    probeResults: results,
    pods: podManager,
    podState,
    directories,
    nodeIps: () => nodeIps,
    podsWithRuntime: () => podWorkers.podsWithRuntime(podManager.getPods()),
    sourcesReady: () => sourcesReady.allReady(),
  };
  const volumes = deps.volumes(core);
  const runtime = deps.runtime(core, volumes);

  const nodePods: Informer<Pod> = nodePodInformer(deps.informers, config.nodeName);
  const nodeInformer = deps.informers.informer(Nodes, { fieldSelector: `metadata.name=${config.nodeName}` });
  let runtimeName = 'containerd';

  const statusManager = createStatusManager({
    platform,
    client,
    podManager,
    couldHaveRunningContainers: podState.couldHaveRunningContainers,
  });
  const prober = createProber({ clock, net: platform.net, runtime, recorder });
  const probeManager = createProbeManager({
    platform,
    prober,
    results,
    podStatus: statusManager.getPodStatus,
    podByUid: podManager.getPodByUid,
  });
  const nodeStatus: NodeStatusManager = createNodeStatusManager(
    {
      platform,
      client,
      recorder,
      runtime,
      nodeIps: () => nodeIps,
      volumesInUse: () => volumes.volumesInUse(),
      runtimeErrors: runtimeState.runtimeErrors,
      networkErrors: runtimeState.networkErrors,
      pressure: () => ({ memory: false, disk: false, pid: false }),
      onPodCidr: (cidr) => {
        runtime
          .updatePodCidr(cidr)
          .then(() => monitor.check())
          .catch((error: unknown) => log.error('Failed to update pod CIDR', { cidr, err: error }));
      },
    },
    config,
  );
  const mirrorClient = createMirrorClient({ client, log, node: nodeStatus.node, nodeName: config.nodeName });

  const syncDeps: SyncPodDeps = {
    platform,
    recorder,
    runtime,
    podCache,
    volumes,
    directories,
    statusManager,
    probeManager,
    reasonCache,
    runtimeState,
    podContainers: deps.podContainers,
    pullSecrets: createPullSecrets({ client, recorder, log }),
    reconcileMirrorPod: createMirrorReconciler({ mirrorClient, node: nodeStatus.node, log }),
    isPodTerminationRequested: podState.isPodTerminationRequested,
    holdEvents: (uid) => pleg.holdEvents(uid),
    generateStatus: createStatusGenerator({
      clock,
      recorder,
      statusManager,
      probeManager,
      reasonCache,
      nodeIps,
      runtimeName: () => runtimeName,
    }),
  };
  const podSyncer: PodSyncer = { syncPod: createSyncPod(syncDeps), ...createTerminationSyncs(syncDeps) };
  const workQueue = createWorkQueue(clock, () => syncLoop.syncCh());
  const podWorkers: PodWorkers = createPodWorkers(
    { platform, recorder, podSyncer, podCache, workQueue },
    { resyncIntervalMs: config.syncFrequencyMs, backOffPeriodMs: config.podBackOffPeriodMs },
  );

  const podConfig = createPodConfig((update) => syncLoop.configCh(update));
  const sourcesReady = createSourcesReady(podConfig.sources);
  const handler = createSyncHandlers({
    platform,
    recorder,
    podManager,
    podWorkers,
    statusManager,
    allSourcesReady: sourcesReady.allReady,
    qosClassOf: podQosClass,
    canAdmitPod: (pod, active) =>
      canAdmitPod({
        pod,
        node: nodeStatus.node(),
        activePods: active,
        operatingSystem: 'linux',
        allowedUnsafeSysctls: config.allowedUnsafeSysctls,
      }),
    handlePodCleanups: createPodCleanups({
      platform,
      runtime,
      volumes,
      directories,
      podManager,
      podWorkers,
      probeManager,
      statusManager,
      mirrorClient,
      podContainers: deps.podContainers,
      activePods: () => activePods(podManager.getPods(), { podWorkers, statusManager }),
    }),
  });
  const syncLoop: SyncLoop = createSyncLoop({
    platform,
    handler,
    runtimeErrors: runtimeState.runtimeErrors,
    allSourcesReady: sourcesReady.allReady,
    addSource: ({ source }) => sourcesReady.addSource(source),
    podByUid: podManager.getPodByUid,
    podsToSync: () => workQueue.getWork().flatMap((uid) => podManager.getPodByUid(uid) ?? []),
    onProbeUpdate,
    cleanUpContainersInPod: (uid, containerId) => {
      const status = podCache.peek(uid);
      if (status === undefined) return;
      const removeAll = podState.shouldPodContentBeRemoved(uid);
      const keep = removeAll ? 0 : config.maxPerPodContainerCount;
      deleteContainers({ runtime, log }, containersToDelete(status, removeAll ? '' : containerId, keep));
    },
  });
  results.onUpdate((update) => syncLoop.probeCh(update));
  const pleg = createGenericPleg(
    {
      platform,
      runtime,
      podCache,
      plegCh: (event) => syncLoop.plegCh(event),
      identityOf: (uid) => {
        const pod = podManager.getPodByUid(uid);
        return pod === undefined ? undefined : { uid, name: podName(pod), namespace: podNamespace(pod) };
      },
    },
    { relistPeriodMs: config.plegRelistPeriodMs },
  );
  runtimeState.addHealthCheck('PLEG', pleg.healthProblem);
  const monitor = createRuntimeMonitor({ clock, log, runtime, state: runtimeState, onChange: onRuntimeChange });

  /** The node says so at once; pods that waited for the network go on. */
  function onRuntimeChange(ready: boolean): void {
    nodeStatus.trigger();
    if (!ready) return;
    syncLoop.runtimeRecovered();
    handler.handlePodSyncs(podManager.getPods());
  }

  function onProbeUpdate(update: ProbeUpdate): void {
    const { type, podUid: uid, containerId, result } = update;
    if (type === 'readiness') statusManager.setContainerReadiness(uid, containerId, result === 'success');
    if (type === 'startup') statusManager.setContainerStartup(uid, containerId, result === 'success');
    if (type === 'liveness' && result !== 'failure') return;
    const pod = podManager.getPodByUid(uid);
    if (pod === undefined) return;
    log.debug('SyncLoop (probe)', { probe: type, status: result, pod: `${podNamespace(pod)}/${podName(pod)}` });
    handler.handlePodSyncs([pod]);
  }

  const lifetime = new AbortController();

  /** Order as upstream's: volumes, node status, runtime check, status, probes, PLEG, main loop. */
  async function startKubelet(signal: AbortSignal): Promise<void> {
    await platform.files.makeDir(directories.podsDir(), { mode: 0o750 });
    await deps.podContainers.start(signal);
    const apiSource = podConfig.source('api');
    const startSources = startStaticSources({ platform, podConfig, preparePod: deps.preparePod }, config, signal);
    nodeInformer.addHandler({
      onAdd: nodeStatus.nodeSeen,
      onUpdate: (_before, node) => nodeStatus.nodeSeen(node),
      onDelete: nodeStatus.nodeGone,
    });

    volumes.start(signal);
    pleg.start(signal);
    const runtimeStatus = await monitor.check();
    runtimeName = runtimeStatus?.runtimeName ?? runtimeName;
    await pleg.relist();
    nodeStatus.start(signal);
    monitor.start(signal);
    void runLeaseController(
      { platform, client: deps.heartbeatClient ?? client, node: nodeStatus.node },
      { nodeName: config.nodeName, leaseDurationSeconds: config.nodeLeaseDurationSeconds },
      signal,
    );
    statusManager.start(signal);
    void startEventedPleg(
      { platform, runtime, pleg },
      { healthyRelistPeriodMs: config.plegHealthyRelistPeriodMs, brokenRelistPeriodMs: config.plegRelistPeriodMs },
      signal,
    );
    startContainerGc(signal);
    syncLoop.start(signal);
    startApiserverSource(nodePods, apiSource, signal);
    startSources();
    // Mirrors need the Node object as their owner.
    void nodeStatus.registered.then(() => handler.handlePodSyncs(podManager.getPods().filter(isStaticPod)));
  }

  function startContainerGc(signal: AbortSignal): void {
    const policy = {
      minAgeMs: config.minimumGcAgeMs,
      maxPerPodContainer: config.maxPerPodContainerCount,
      maxContainers: config.maxContainerCount,
    };
    const cancel = clock.setTicker(config.containerGcPeriodMs, () => {
      runtime
        .garbageCollect(policy, { allSourcesReady: sourcesReady.allReady(), evictNonDeleted: false })
        .catch((error: unknown) => log.error('Container garbage collection failed', { err: error }));
    });
    signal.addEventListener('abort', cancel, { once: true });
  }

  /** The pod as the API should show it: with the newest status. */
  function withStatus(pod: Pod): Pod {
    const status = statusManager.getPodStatus(podUid(pod));
    return status === undefined ? pod : { ...pod, status };
  }

  const host: KubeletHost = {
    nodeName: config.nodeName,
    pods: () => podManager.getPods().map(withStatus),
    podByName: (namespace, name) => podManager.getPodByName(namespace, name),
    podByUid: (uid) => podManager.getPodByUid(podManager.translatePodUid(uid)),
    podStatus: (uid) => podCache.peek(podManager.translatePodUid(uid)),
    healthProblems: () => [syncLoop.healthProblem(), pleg.healthProblem()].filter((problem) => problem !== undefined),
    configz: () => ({ kubeletconfig: config }),
  };

  return {
    host,
    core,
    runtime,
    volumes,
    registered: nodeStatus.registered,
    start(signal) {
      if (signal.aborted) lifetime.abort(signal.reason);
      else signal.addEventListener('abort', () => lifetime.abort(signal.reason), { once: true });
      return startKubelet(lifetime.signal);
    },
    async stop() {
      lifetime.abort(new Error('the kubelet is stopping'));
      probeManager.stop();
      await podWorkers.stop();
    },
  };
}

/** The pod workers' answers, asked when needed: they are made after those who ask. */
function lateBound(workers: () => PodWorkers): PodStateProvider {
  return {
    isPodKnownTerminated: (uid) => workers().isPodKnownTerminated(uid),
    couldHaveRunningContainers: (uid) => workers().couldHaveRunningContainers(uid),
    shouldPodBeFinished: (uid) => workers().shouldPodBeFinished(uid),
    isPodTerminationRequested: (uid) => workers().isPodTerminationRequested(uid),
    shouldPodContainersBeTerminating: (uid) => workers().shouldPodContainersBeTerminating(uid),
    shouldPodRuntimeBeRemoved: (uid) => workers().shouldPodRuntimeBeRemoved(uid),
    shouldPodContentBeRemoved: (uid) => workers().shouldPodContentBeRemoved(uid),
    isPodForMirrorPodTerminatingByFullName: (fullName) => workers().isPodForMirrorPodTerminatingByFullName(fullName),
  };
}
