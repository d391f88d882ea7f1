/**
 * One worker per pod: serialises everything done to it and drives it through syncing → terminating → terminated.
 * Upstream: pkg/kubelet/pod_workers.go (UpdatePod, podWorkerLoop, formerly managePodLoop and lastUndeliveredWorkUpdate).
 *
 * Invariants: at most one sync of a pod runs at a time; at most one update waits, the newest; once termination is
 * requested nothing turns the pod back and the grace period only shrinks; a request to end cancels the sync in progress.
 * A worker is an async loop that exists only while there is work, and begins in the very turn the update comes.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { isProgramError } from '../../platform/unexpected.ts';
import type { PodCache } from '../container/pod-cache.ts';
import { isStaticPod, podFields, podUid } from '../types/pod-update.ts';
import type { WorkQueue } from './work-queue.ts';
import {
  createPodSyncStatus,
  effectiveGracePeriod,
  identityOf,
  isRuntimeStatusTerminal,
  mergeLastUpdate,
  workTypeOf,
  type KillPodOptions,
  type PodSyncStatus,
  type PodWork,
  type UpdatePodOptions,
} from './pod-sync-status.ts';
import { createPodStateProvider } from './pod-state.ts';
import { createPodSteps } from './pod-steps.ts';
import type { PodSyncer, PodWorkers, PodWorkerSync, SyncPodOutcome } from './pod-syncer.ts';
import { createRequeueDelays, type RequeueConfig, type SyncResult } from './requeue-delay.ts';
import { createStaticPodOrder } from './static-pod-order.ts';

export interface PodWorkersDeps {
  readonly platform: BasePlatform;
  readonly recorder: KubeletEventRecorder;
  readonly podSyncer: PodSyncer;
  readonly podCache: PodCache;
  readonly workQueue: WorkQueue;
}

/** Makes pod workers. Nothing runs until the first `updatePod`. */
export function createPodWorkers(deps: PodWorkersDeps, config: RequeueConfig): PodWorkers {
  const { clock } = deps.platform;
  const delays = createRequeueDelays(deps.platform.random.fork('pod-workers'), config);
  const runStep = createPodSteps(deps);
  const log = deps.platform.log.child('pod-workers');
  const duration = deps.platform.metrics.histogram({
    name: 'kubelet_pod_worker_duration_seconds',
    help: 'Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
    labels: ['operation_type'],
  });
  const startDuration = deps.platform.metrics.histogram({
    name: 'kubelet_pod_worker_start_duration_seconds',
    help: 'Duration in seconds from kubelet seeing a pod to starting a worker.',
  });
  const podSyncStatuses = new Map<string, PodSyncStatus>();
  /** Pods whose loop runs. Upstream keeps a channel per pod here (podUpdates). */
  const podLoops = new Map<string, Promise<void>>();
  const staticPods = createStaticPodOrder();
  let podsSynced = false;
  let stopped = false;
  const state = createPodStateProvider({
    find: (uid) => podSyncStatuses.get(uid),
    podsSynced: () => podsSynced,
    startedStatic: (fullName) => staticPods.started(fullName),
  });

  // ---- taking updates -------------------------------------------------------------------------------------------

  function updatePod(given: UpdatePodOptions): void {
    if (stopped) return;
    const isRuntimePod = given.pod === undefined;
    if (isRuntimePod && given.updateType !== 'kill') {
      log.warn('Pod update is ignored, runtime pods can only be killed', { updateType: given.updateType });
      return;
    }
    const { uid, fullName } = identityOf(given);
    const known = podSyncStatuses.get(uid);
    let status = known;
    if (status === undefined) {
      status = firstSeen(given, { uid, fullName });
      podSyncStatuses.set(uid, status);
    }
    const options = isRuntimePod ? preferKnownSpec(status, given) : { ...given, runningPod: undefined };

    if (known?.terminatingAt !== undefined && options.updateType === 'create') {
      status.restartRequested = true;
      log.debug('Pod is terminating but has been requested to restart with same UID, will be reconciled later', {
        podUID: uid,
      });
      return;
    }
    if (status.finished) return;
    const becameTerminating = noteTermination(status, options, isRuntimePod);
    if (status.terminatedAt !== undefined && isRuntimePod) return;
    const kill = applyKillOptions(status, options);
    if (
      options.pod !== undefined &&
      isStaticPod(options.pod) &&
      status.startedAt === undefined &&
      status.pendingUpdate === undefined
    ) {
      staticPods.wait(status.fullName, uid);
    }
    // Before the delivery: an idle worker starts on it at once and must not be cancelled.
    if (becameTerminating || kill.shortened) status.controller?.abort(new Error('pod is terminating'));
    deliver(status, { ...options, killPodOptions: kill.options });
  }

  /** A pod of terminal phase that does not run any more has ended before the kubelet started: only the last step is left. */
  function firstSeen(options: UpdatePodOptions, identity: { uid: string; fullName: string }): PodSyncStatus {
    const status = createPodSyncStatus(identity);
    const { pod } = options;
    if (pod === undefined || !isPodPhaseTerminal(pod.status?.phase)) return status;
    const known = deps.podCache.peek(identity.uid);
    if (known !== undefined && !isRuntimeStatusTerminal(known)) return status;
    const nowMs = clock.monotonicMs();
    return Object.assign(status, { terminatingAt: nowMs, terminatedAt: nowMs, startedTerminating: true });
  }

  /** The runtime's view of a pod cannot do more than end it; a spec that came before knows better how. */
  function preferKnownSpec(status: PodSyncStatus, options: UpdatePodOptions): UpdatePodOptions {
    status.observedRuntime = true;
    const pod = status.pendingUpdate?.pod ?? status.activeUpdate?.pod;
    return pod === undefined ? options : { ...options, pod, runningPod: undefined };
  }

  function noteTermination(status: PodSyncStatus, options: UpdatePodOptions, isRuntimePod: boolean): boolean {
    if (status.terminatingAt !== undefined) return false;
    const deleted = isRuntimePod || options.pod?.metadata.deletionTimestamp !== undefined;
    const ended = isPodPhaseTerminal(options.pod?.status?.phase);
    if (!deleted && !ended && options.updateType !== 'kill') return false;
    if (deleted) status.deleted = true;
    else if (!ended && options.killPodOptions?.evict === true) status.evicted = true;
    status.terminatingAt = clock.monotonicMs();
    return true;
  }

  function applyKillOptions(
    status: PodSyncStatus,
    options: UpdatePodOptions,
  ): { options: KillPodOptions | undefined; shortened: boolean } {
    const given = options.killPodOptions;
    if (status.terminatingAt === undefined || status.terminatedAt !== undefined) {
      given?.onTerminated?.();
      return { options: undefined, shortened: false };
    }
    if (given?.onTerminated !== undefined) status.onTerminated.push(given.onTerminated);
    if (given?.podStatus !== undefined) status.statusPostTerminating.push(given.podStatus);
    const grace = effectiveGracePeriod(status, options.pod, given ?? {});
    status.gracePeriod = grace.seconds;
    return { options: { ...given, gracePeriodSecondsOverride: grace.seconds }, shortened: grace.shortened };
  }

  /** Makes this the one update that waits and wakes the worker. */
  function deliver(status: PodSyncStatus, options: UpdatePodOptions): void {
    const replaced = status.pendingUpdate;
    const onComplete = replaced?.onComplete;
    status.pendingUpdate = {
      ...options,
      startTimeMs: replaced?.startTimeMs ?? options.startTimeMs,
      onComplete:
        onComplete === undefined
          ? options.onComplete
          : (error) => {
              onComplete(error);
              options.onComplete?.(error);
            },
    };
    wake(status);
  }

  function wake(status: PodSyncStatus): void {
    status.working = true;
    if (stopped || podLoops.has(status.uid)) return;
    const loop = managePodLoop(status).finally(() => {
      podLoops.delete(status.uid);
      // An update that came while the loop was ending.
      if (status.working && status.pendingUpdate !== undefined && podSyncStatuses.get(status.uid) === status)
        wake(status);
    });
    podLoops.set(status.uid, loop);
  }

  /** A synthetic update with what is known, so that the next step of the life runs at once. */
  function requeueLastUpdate(status: PodSyncStatus): void {
    if (status.pendingUpdate === undefined) {
      if (status.activeUpdate === undefined) return;
      status.pendingUpdate = status.activeUpdate;
    }
    wake(status);
  }

  // ---- the worker -----------------------------------------------------------------------------------------------

  async function managePodLoop(status: PodSyncStatus): Promise<void> {
    while (!stopped && podSyncStatuses.get(status.uid) === status) {
      const work = startPodSync(status);
      if (work === undefined) return;
      const startedMs = clock.monotonicMs();
      let outcome: SyncPodOutcome = { terminal: false };
      let error: unknown;
      try {
        outcome = await runStep(status, work);
        status.lastSyncStamp = outcome.actedAt ?? status.lastSyncStamp;
      } catch (thrown) {
        status.lastSyncStamp = deps.podCache.now();
        error = thrown ?? new Error('sync failed without a reason');
      }
      duration.observe((clock.monotonicMs() - startedMs) / 1000, { operation_type: work.options.updateType });
      work.options.onComplete?.(error);
      completeWork(status, work, { outcome, error });
      // Nothing is left to cancel, and thousands of pods at rest need no controller.
      if (status.controller?.signal.aborted === false) status.controller = undefined;
    }
  }

  /** Takes the waiting update; undefined when there is none or the pod may not start (yet). */
  function startPodSync(status: PodSyncStatus): PodWork | undefined {
    const options = status.pendingUpdate;
    if (options === undefined) {
      status.working = false;
      return undefined;
    }
    status.pendingUpdate = undefined;
    const workType = workTypeOf(status);
    const onlyEnds = options.pod === undefined && workType === 'terminating';
    if (status.startedAt === undefined && !onlyEnds && !mayStart(status, options)) return undefined;
    if (status.controller === undefined || status.controller.signal.aborted) status.controller = new AbortController();
    mergeLastUpdate(status, options);
    return { workType, options };
  }

  function mayStart(status: PodSyncStatus, options: UpdatePodOptions): boolean {
    const pod = options.pod;
    if (pod !== undefined && isStaticPod(pod)) {
      if (status.terminatingAt !== undefined && status.terminatedAt === undefined && !status.observedRuntime) {
        endUnstarted(status);
        return false;
      }
      const gone = (uid: string): boolean =>
        podSyncStatuses.get(uid)?.terminatingAt !== undefined || !podSyncStatuses.has(uid);
      if (!staticPods.allowStart(status.fullName, status.uid, gone)) {
        status.pendingUpdate = options;
        status.working = false;
        deps.workQueue.enqueue(status.uid, delays.backOffMs());
        return false;
      }
    }
    status.startedAt = clock.monotonicMs();
    if (options.startTimeMs !== undefined) startDuration.observe((status.startedAt - options.startTimeMs) / 1000);
    return true;
  }

  // ---- after a step ---------------------------------------------------------------------------------------------

  function completeWork(status: PodSyncStatus, work: PodWork, result: SyncResult): void {
    if (result.error !== undefined) {
      // A cancelled sync was cancelled because an update waits; it is no failure.
      if (status.controller?.signal.aborted !== true) {
        const fields = work.options.pod === undefined ? { podUID: status.uid } : podFields(work.options.pod);
        if (isProgramError(result.error)) log.unexpected('Error syncing pod, skipping', result.error, fields);
        else log.error('Error syncing pod, skipping', { ...fields, err: result.error });
      }
      requeueLater(status, result);
    } else if (work.workType === 'terminated') {
      finish(status);
      return;
    } else if (work.workType === 'terminating') {
      completeTerminating(status, work);
      return;
    } else if (result.outcome.terminal) {
      status.terminatingAt ??= clock.monotonicMs();
      status.startedTerminating = true;
      requeueLastUpdate(status);
      return;
    } else {
      requeueLater(status, result);
    }
    // Cancelled with nothing waiting cannot happen by updates alone; the last update then stands.
    if (status.pendingUpdate === undefined && status.controller?.signal.aborted === true) requeueLastUpdate(status);
  }

  function completeTerminating(status: PodSyncStatus, work: PodWork): void {
    status.terminatedAt = clock.monotonicMs();
    for (const notify of status.onTerminated.splice(0)) notify();
    status.statusPostTerminating = [];
    if (work.options.pod === undefined) finish(status);
    else requeueLastUpdate(status);
  }

  function requeueLater(status: PodSyncStatus, result: SyncResult): void {
    deps.workQueue.enqueue(status.uid, delays.after(result));
  }

  function finish(status: PodSyncStatus): void {
    status.finished = true;
    status.working = false;
    status.pendingUpdate = undefined;
    deps.workQueue.remove(status.uid);
    releaseStatic(status);
  }

  /** A static pod that never started needs no steps to end. */
  function endUnstarted(status: PodSyncStatus): void {
    status.terminatedAt = clock.monotonicMs();
    for (const notify of status.onTerminated.splice(0)) notify();
    finish(status);
  }

  function releaseStatic(status: PodSyncStatus): void {
    const next = staticPods.release(status.fullName, status.uid);
    const waiting = next === undefined ? undefined : podSyncStatuses.get(next);
    if (waiting?.pendingUpdate !== undefined) wake(waiting);
  }

  // ---- housekeeping ---------------------------------------------------------------------------------------------

  function syncKnownPods(desired: readonly Pod[]): ReadonlyMap<string, PodWorkerSync> {
    const known = new Set(desired.map(podUid));
    const workers = new Map<string, PodWorkerSync>();
    podsSynced = true;
    for (const [uid, status] of [...podSyncStatuses]) {
      const orphan = !known.has(uid);
      if ((status.restartRequested || orphan) && removeTerminatedWorker(status, orphan)) continue;
      const pod = status.activeUpdate?.pod ?? status.pendingUpdate?.pod;
      workers.set(uid, {
        state: workTypeOf(status),
        orphan,
        hasConfig: pod !== undefined,
        isStatic: pod !== undefined && isStaticPod(pod),
      });
    }
    return workers;
  }

  /** True when the record is gone. An orphan that still runs is driven to its end first: nobody else would. */
  function removeTerminatedWorker(status: PodSyncStatus, orphan: boolean): boolean {
    if (!status.finished) {
      if (!orphan) return false;
      status.deleted = true;
      if (status.startedAt !== undefined || status.observedRuntime) {
        if (status.terminatingAt === undefined) {
          status.terminatingAt = clock.monotonicMs();
          status.gracePeriod = effectiveGracePeriod(status, status.activeUpdate?.pod, {}).seconds;
          status.controller?.abort(new Error('pod is no longer configured'));
          requeueLastUpdate(status);
        } else if (!status.working) requeueLastUpdate(status);
        return false;
      }
    }
    podSyncStatuses.delete(status.uid);
    deps.workQueue.remove(status.uid);
    releaseStatic(status);
    return true;
  }

  return {
    ...state,
    updatePod,
    syncKnownPods,
    podsWithRuntime(desired) {
      const pods = new Map(desired.map((pod) => [podUid(pod), pod]));
      for (const { uid, activeUpdate } of podSyncStatuses.values()) {
        if (!pods.has(uid) && activeUpdate?.pod !== undefined) pods.set(uid, activeUpdate.pod);
      }
      return [...pods.values()].filter((pod) => !state.shouldPodRuntimeBeRemoved(podUid(pod)));
    },
    async stop() {
      stopped = true;
      for (const status of podSyncStatuses.values()) status.controller?.abort(new Error('the kubelet is stopping'));
      deps.workQueue.stop();
      await Promise.allSettled(podLoops.values());
    },
  };
}
