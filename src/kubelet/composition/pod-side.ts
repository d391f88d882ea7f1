/** Third stage of the kubelet: handlers of the sync loop, pod workers and the syncs they run, admission and eviction. */
import { podQosClass } from '../../api/pod-qos.ts';
import { canAdmitPod, type AdmissionResult } from '../admission/predicate.ts';
import type { SyncHandler } from '../sync-loop/sync-loop.ts';
import { createPodWorkCounts, type PodWorkCounts } from '../metrics/pod-counts.ts';
import { createMirrorReconciler } from '../pod/mirror-reconciler.ts';
import { createPodCleanups } from '../sync-loop/pod-cleanups.ts';
import type { PodWorkers } from '../pod-workers/pod-syncer.ts';
import { createPodWorkers } from '../pod-workers/pod-workers.ts';
import { createPullSecrets } from '../sync-pod/pull-secrets.ts';
import { createStatusGenerator } from '../status/status-generator.ts';
import { activePods, createSyncHandlers } from '../sync-loop/sync-handlers.ts';
import type { NodeShutdownManager } from '../node-shutdown/node-shutdown-manager.ts';
import { createEviction, createPreemptor, createShutdown } from './eviction.ts';
import type { EvictionManager } from '../eviction/eviction-manager.ts';
import { createSyncPod, type SyncPodDeps } from '../sync-pod/sync-pod.ts';
import { createTerminationSyncs } from '../sync-pod/sync-terminating-pod.ts';
import { podUid, isCriticalPod } from '../types/pod-update.ts';
import { createWorkQueue, type WorkQueue } from '../pod-workers/work-queue.ts';
import type { Foundations } from './foundations.ts';
import type { NodeSide } from './node-side.ts';

/** The parts that act on pods. */
export interface PodSide {
  readonly workQueue: WorkQueue;
  readonly podWorkers: PodWorkers;
  readonly workCounts: PodWorkCounts;
  readonly handler: SyncHandler;
  readonly eviction: EvictionManager | undefined;
  readonly shutdown: NodeShutdownManager | undefined;
}

/** Makes the third stage; binds the pod workers. */
export function createPodSide(foundations: Foundations, nodeSide: NodeSide): PodSide {
  const { deps, config, late, podCache } = foundations;
  const { platform, recorder } = deps;
  const syncDeps = createSyncDeps(foundations, nodeSide);
  const workQueue = createWorkQueue(platform.clock, () => late.syncLoop.get().syncCh());
  const podWorkers = createPodWorkers(
    {
      platform,
      recorder,
      podSyncer: { syncPod: createSyncPod(syncDeps), ...createTerminationSyncs(syncDeps) },
      podCache,
      workQueue,
    },
    { resyncIntervalMs: config.syncFrequencyMs, backOffPeriodMs: config.podBackOffPeriodMs },
  );
  late.podWorkers.bind(podWorkers);
  const eviction = late.eviction.bind(createEviction(foundations, nodeSide, podWorkers));
  const shutdown = late.shutdown.bind(createShutdown(foundations, nodeSide, podWorkers));
  const workCounts = createPodWorkCounts(platform.metrics);
  const handler = createHandler(foundations, nodeSide, { podWorkers, workCounts });
  return { workQueue, podWorkers, workCounts, eviction, shutdown, handler };
}

function createSyncDeps(foundations: Foundations, nodeSide: NodeSide): SyncPodDeps {
  const { log, late, core, runtime, podCache, volumes, reasonCache, runtimeState, runtimeName } = foundations;
  const { platform, client, recorder, podContainers } = foundations.deps;
  const { statusManager, probeManager, nodeStatus, mirrorClient } = nodeSide;
  return {
    platform,
    recorder,
    runtime,
    podCache,
    volumes,
    directories: core.directories,
    podStarts: core.podStarts,
    statusManager,
    probeManager,
    reasonCache,
    runtimeState,
    podContainers,
    allocations: foundations.allocations,
    dynamicResources: foundations.managers,
    pullSecrets: createPullSecrets({ client, recorder, log }),
    reconcileMirrorPod: foundations.config.hasApiServer
      ? createMirrorReconciler({ mirrorClient, node: nodeStatus.node, log })
      : async () => undefined,
    isPodTerminationRequested: core.podState.isPodTerminationRequested,
    holdEvents: (uid) => late.pleg.get().holdEvents(uid),
    generateStatus: createStatusGenerator({
      clock: platform.clock,
      recorder,
      statusManager,
      probeManager,
      reasonCache,
      nodeIps: core.nodeIps(),
      runtimeName: () => runtimeName.current,
      allocations: foundations.allocations,
      ...(foundations.config.resourceHealthStatus ? { resourceHealth: foundations.managers.resourceHealth } : {}),
    }),
  };
}

function createHandler(
  foundations: Foundations,
  nodeSide: NodeSide,
  { podWorkers, workCounts }: Pick<PodSide, 'podWorkers' | 'workCounts'>,
): SyncHandler {
  const { deps, config, core, podManager, sourcesReady, runtime, volumes, allocations, managers, admitting } =
    foundations;
  const { platform, recorder, podContainers } = deps;
  const { statusManager, probeManager, nodeStatus, mirrorClient } = nodeSide;
  const preemption = createPreemptor(foundations, nodeSide, podWorkers);
  return createSyncHandlers({
    platform,
    recorder,
    podManager,
    podWorkers,
    statusManager,
    allSourcesReady: sourcesReady.allReady,
    qosClassOf: podQosClass,
    podSeen: core.podStarts.seen,
    admitting,
    canAdmitPod: (pod, others) => {
      for (const verdict of [foundations.late.shutdown.get()?.admit(), foundations.late.eviction.get()?.admit(pod)])
        if (verdict?.admit === false) return verdict;
      const allocated = allocations.allocatedPod(pod);
      const predicates = (active = others.active): AdmissionResult | Promise<AdmissionResult> => {
        const verdict = canAdmitPod({
          pod: allocated,
          node: managers.withHeld(nodeStatus.node(), allocated),
          others: { count: others.count, active: () => active().map(allocations.allocatedPod) },
          operatingSystem: 'linux',
          allowedUnsafeSysctls: config.allowedUnsafeSysctls,
          hostNamespaceSources: config.allowedHostNamespaceSources,
          ...(config.declaredFeatures === undefined ? {} : { declaredFeatures: config.declaredFeatures }),
        });
        if (verdict.admit || verdict.lacking === undefined || !isCriticalPod(allocated)) return verdict;
        return preemption.makeRoom(allocated, verdict.lacking);
      };
      if (!managers.concerns(allocated)) return predicates();
      // Pods that arrive during this wait are admitted with this pod counted already.
      const active = others.active();
      return managers.admit(allocated).then((verdict) => (verdict.admit ? predicates(() => active) : verdict));
    },
    handlePodCleanups: createPodCleanups({
      platform,
      runtime,
      volumes,
      directories: core.directories,
      podStarts: core.podStarts,
      workCounts,
      podManager,
      podWorkers,
      probeManager,
      statusManager,
      mirrorClient,
      allocations,
      podContainers,
      activePods: () =>
        activePods(podManager.getPods(), { podWorkers, statusManager }).filter((pod) => !admitting.has(podUid(pod))),
    }),
  });
}
