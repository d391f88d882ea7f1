/**
 * The order in which a kubelet's parts start, which is upstream's: volumes, node status, runtime check, status, probes,
 * PLEG, main loop, and the pod sources last. Upstream: (*Kubelet).Run and startKubelet.
 */
import { onAbort } from '../../base/abort.ts';
import { errorMessage } from '../../base/errors.ts';
import { KUBERNETES_VERSION } from '../../base/version.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import { startApiserverSource } from '../config/apiserver-source.ts';
import { startStaticSources } from '../config/static-sources.ts';
import { exposePodCounts } from '../metrics/pod-counts.ts';
import { activePods } from '../sync-loop/sync-handlers.ts';
import { runLeaseController } from '../node-status/lease-controller.ts';
import { startOomWatcher } from '../oom/oom-watcher.ts';
import { startEventedPleg } from '../pleg/evented-pleg.ts';
import { startWatchdog } from '../watchdog/watchdog.ts';
import { isStaticPod, podUid } from '../types/pod-update.ts';
import type { Foundations } from './foundations.ts';
import { healthProblems } from './host.ts';
import type { LoopSide } from './loop-side.ts';
import type { NodeSide } from './node-side.ts';
import type { PodSide } from './pod-side.ts';
import { background } from '../../platform/unexpected.ts';

/** All stages of a kubelet. */
export interface Stages {
  readonly foundations: Foundations;
  readonly nodeSide: NodeSide;
  readonly podSide: PodSide;
  readonly loopSide: LoopSide;
}

/** Starts everything until the signal aborts; resolves once the main loop runs. */
export async function startKubelet(stages: Stages, signal: AbortSignal): Promise<void> {
  const { deps, config, core, podManager, podConfig, nodePods } = stages.foundations;
  const { platform, preparePod } = deps;
  stages.foundations.log.info('Kubelet version', { kubeletVersion: KUBERNETES_VERSION });
  await platform.files.makeDir(core.directories.podsDir(), { mode: 0o750 });
  await stages.foundations.allocationState.load();
  await deps.podContainers.start(signal);
  await stages.foundations.managers.start(signal);
  exposeCounts(stages, signal);
  // All sources are registered before any sends.
  const apiSource = config.hasApiServer ? podConfig.source('api') : undefined;
  const startSources = startStaticSources({ platform, podConfig, preparePod }, config, signal);
  await lookAtRuntime(stages, signal);
  if (config.hasApiServer) startReporting(stages, signal);
  stages.loopSide.runtimeMonitor.start(signal);
  startRuntimeUpkeep(stages, signal);
  stages.foundations.plugins.start(signal);
  stages.podSide.eviction?.start(signal);
  stages.podSide.shutdown?.start(signal);
  stages.loopSide.syncLoop.start(signal);
  startWatchdog({ platform, healthProblems: () => healthProblems(stages.loopSide) }, signal);
  if (apiSource !== undefined) {
    startApiserverSource(nodePods, apiSource, signal);
    followStarts(stages.foundations, signal);
  }
  startSources();
  const syncStaticPods = (): void => stages.podSide.handler.handlePodSyncs(podManager.getPods().filter(isStaticPod));
  // Mirrors need the Node object as their owner, also one that was registered anew after its deletion.
  if (config.hasApiServer) stages.foundations.nodeInformer.addHandler({ onAdd: syncStaticPods });
  background(
    platform.log,
    'static pods could not be mirrored',
    stages.nodeSide.nodeStatus.registered.then(syncStaticPods),
  );
}

/** Measures when clients of the API server can see that pods have started. */
function followStarts({ core, nodePods }: Foundations, signal: AbortSignal): void {
  const stop = nodePods.addHandler({
    onUpdate: (_before, pod) => core.podStarts.watched(pod),
    onDelete: (pod) => core.podStarts.forget(podUid(pod)),
  });
  onAbort(signal, stop);
}

function exposeCounts({ foundations, nodeSide, podSide }: Stages, signal: AbortSignal): void {
  const { deps, podManager } = foundations;
  const { statusManager } = nodeSide;
  const sources = {
    desired: podManager.getPods,
    active: () => activePods(podManager.getPods(), { podWorkers: podSide.podWorkers, statusManager }),
    mirrors: () => podManager.getPodsAndMirrorPods().mirrorPods,
  };
  exposePodCounts(deps.platform.metrics, sources, signal);
  podSide.workCounts.start(signal);
}

/** Starts volumes and takes a first look at the runtime and its containers. */
async function lookAtRuntime({ foundations, nodeSide, loopSide }: Stages, signal: AbortSignal): Promise<void> {
  const { nodeInformer, volumes, runtimeName } = foundations;
  const { nodeStatus } = nodeSide;
  nodeInformer.addHandler({
    onAdd: nodeStatus.nodeSeen,
    onUpdate: (_before, node) => nodeStatus.nodeSeen(node),
    onDelete: nodeStatus.nodeGone,
  });
  volumes.start(signal);
  // Without an API server the node's pod CIDR comes from the configuration.
  const { config, runtime, log } = foundations;
  if (!config.hasApiServer && config.podCidr !== '')
    await runtime
      .updatePodCidr(config.podCidr)
      .catch((error: unknown) => log.error('Failed to update pod CIDR', { cidr: config.podCidr, err: error }));
  loopSide.pleg.start(signal);
  const status = await loopSide.runtimeMonitor.check();
  runtimeName.current = status?.runtimeName ?? runtimeName.current;
  await loopSide.pleg.relist();
}

/** Starts reporting the node and its pods to the API. */
function startReporting({ foundations, nodeSide }: Stages, signal: AbortSignal): void {
  const { deps, config } = foundations;
  const { nodeStatus, statusManager } = nodeSide;
  nodeStatus.start(signal);
  // Upstream's BirthCry.
  deps.recorder.event(nodeRefOf(config), 'Normal', 'Starting', 'Starting kubelet.');
  background(
    deps.platform.log,
    'a part of the kubelet broke off',
    runLeaseController(
      { platform: deps.platform, client: deps.heartbeatClient ?? deps.client, node: nodeStatus.node },
      { nodeName: config.nodeName, leaseDurationSeconds: config.nodeLeaseDurationSeconds },
      signal,
    ),
  );
  statusManager.start(signal);
}

/** Starts following the runtime's events and removing dead containers. */
function startRuntimeUpkeep({ foundations, loopSide }: Stages, signal: AbortSignal): void {
  const { deps, config, runtime } = foundations;
  startOomWatcher({ platform: deps.platform, recorder: deps.recorder, nodeRef: nodeRefOf(config) }, signal);
  background(
    deps.platform.log,
    'a part of the kubelet broke off',
    startEventedPleg(
      { platform: deps.platform, runtime, pleg: loopSide.pleg },
      { healthyRelistPeriodMs: config.plegHealthyRelistPeriodMs, brokenRelistPeriodMs: config.plegRelistPeriodMs },
      signal,
    ),
  );
  startContainerGc(foundations, signal);
}

function nodeRefOf({ nodeName }: Foundations['config']): EventTarget {
  return { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeName };
}

function startContainerGc(foundations: Foundations, signal: AbortSignal): void {
  const { deps, config, log, runtime, sourcesReady } = foundations;
  const policy = {
    minAgeMs: config.minimumGcAgeMs,
    maxPerPodContainer: config.maxPerPodContainerCount,
    maxContainers: config.maxContainerCount,
  };
  const cancel = deps.platform.clock.setTicker(config.containerGcPeriodMs, () => {
    runtime
      .garbageCollect(policy, { allSourcesReady: sourcesReady.allReady(), evictNonDeleted: false })
      .catch((error: unknown) => {
        log.error('Container garbage collection failed', { err: error });
        deps.recorder.event(nodeRefOf(config), 'Warning', 'ContainerGCFailed', errorMessage(error));
      });
  });
  onAbort(signal, cancel);
}
