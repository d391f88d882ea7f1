/**
 * One worker per pod: serialises everything done to it and drives it through syncing → terminating → terminated.
 * Upstream: pkg/kubelet/pod_workers.go (UpdatePod, podWorkerLoop, formerly managePodLoop and lastUndeliveredWorkUpdate).
 *
 * Invariants: at most one sync of a pod runs at a time; at most one update waits, the newest; once termination is
 * requested nothing turns the pod back and the grace period only shrinks; a request to end cancels the sync in progress.
 * A worker is an async loop that exists only while there is work, and begins in the very turn the update comes.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Log } from '../../platform/log.ts';
import { isStaticPod, podUid } from '../types/pod-update.ts';
import {
  applyKillOptions,
  firstPodSyncStatus,
  isRemovable,
  requestTermination,
  setPendingUpdate,
  withKnownSpec,
} from './apply-update.ts';
import { logSyncFailure } from './log-sync-failure.ts';
import { PodStates } from './pod-state.ts';
import { createPodSteps, type RunPodStep } from './pod-steps.ts';
import {
  effectiveGracePeriod,
  identityOf,
  mergeLastUpdate,
  type PodSyncStatus,
  type PodWork,
  type UpdatePodOptions,
  workTypeOf,
} from './pod-sync-status.ts';
import type { PodWorkers, PodWorkersDeps, PodWorkerSync, SyncPodOutcome } from './pod-syncer.ts';
import { createPodWorkerMetrics, type PodWorkerMetrics } from './pod-worker-metrics.ts';
import { createRequeueDelays, type RequeueConfig, type RequeueDelays, type SyncResult } from './requeue-delay.ts';

/** Nothing runs until the first `updatePod`. */
export function createPodWorkers(deps: PodWorkersDeps, config: RequeueConfig): PodWorkers {
  return new Workers(deps, config);
}

class Workers extends PodStates implements PodWorkers {
  readonly #deps: PodWorkersDeps;
  readonly #log: Log;
  readonly #delays: RequeueDelays;
  readonly #runStep: RunPodStep;
  readonly #metrics: PodWorkerMetrics;
  /** The running loops. Upstream has a channel per pod (podUpdates). */
  readonly #podLoops = new Map<string, Promise<void>>();
  #stopped = false;

  constructor(deps: PodWorkersDeps, config: RequeueConfig) {
    super();
    this.#deps = deps;
    this.#log = deps.platform.log.child('pod-workers');
    this.#delays = createRequeueDelays(deps.platform.random.fork('pod-workers'), config);
    this.#runStep = createPodSteps(deps);
    this.#metrics = createPodWorkerMetrics(deps.platform.metrics);
  }

  updatePod(update: UpdatePodOptions): void {
    if (this.#stopped) return;
    const isRuntimePod = update.pod === undefined;
    if (isRuntimePod && update.updateType !== 'kill') {
      this.#log.warn('Pod update is ignored, runtime pods can only be killed', { updateType: update.updateType });
      return;
    }
    const { uid } = identityOf(update);
    const podSyncStatus = this.podSyncStatuses.get(uid);
    const status = podSyncStatus ?? firstPodSyncStatus(update, this.#deps.podCache.peek(uid), this.#nowMs());
    this.podSyncStatuses.set(uid, status);
    const options = withKnownSpec(status, update);
    if (podSyncStatus?.terminatingAt !== undefined && options.updateType === 'create') {
      status.restartRequested = true;
      this.#log.debug('Pod is terminating but has been requested to restart with same UID, will be reconciled later', {
        podUID: uid,
      });
      return;
    }
    if (status.finished) return;
    const becameTerminating = requestTermination(status, options, { isRuntimePod, nowMs: this.#nowMs() });
    if (status.terminatedAt !== undefined && isRuntimePod) return;
    const { killPodOptions, shortened } = applyKillOptions(status, options);
    const isUnstarted = status.startedAt === undefined && status.pendingUpdate === undefined;
    if (options.pod !== undefined && isStaticPod(options.pod) && isUnstarted)
      this.staticPods.wait(status.fullName, uid);
    // Before delivery, since an idle worker starts on the update at once and must not be cancelled.
    if (becameTerminating || shortened) status.controller?.abort(new Error('pod is terminating'));
    setPendingUpdate(status, { ...options, killPodOptions });
    this.#wake(status);
  }

  syncKnownPods(desired: readonly Pod[]): ReadonlyMap<string, PodWorkerSync> {
    const desiredUids = new Set(desired.map(podUid));
    const workers = new Map<string, PodWorkerSync>();
    this.podsSynced = true;
    for (const [uid, status] of [...this.podSyncStatuses]) {
      const orphan = !desiredUids.has(uid);
      if ((status.restartRequested || orphan) && this.#removeTerminatedWorker(status, orphan)) continue;
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

  podsWithRuntime(desired: readonly Pod[]): readonly Pod[] {
    const pods = new Map(desired.map((pod) => [podUid(pod), pod]));
    for (const { uid, activeUpdate } of this.podSyncStatuses.values()) {
      if (!pods.has(uid) && activeUpdate?.pod !== undefined) pods.set(uid, activeUpdate.pod);
    }
    return [...pods.values()].filter((pod) => !this.shouldPodRuntimeBeRemoved(podUid(pod)));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const status of this.podSyncStatuses.values()) status.controller?.abort(new Error('the kubelet is stopping'));
    this.#deps.workQueue.stop();
    await Promise.allSettled(this.#podLoops.values());
  }

  #nowMs(): number {
    return this.#deps.platform.clock.monotonicMs();
  }

  #wake(status: PodSyncStatus): void {
    status.working = true;
    if (this.#stopped || this.#podLoops.has(status.uid)) return;
    const loop = this.#managePodLoop(status).finally(() => {
      this.#podLoops.delete(status.uid);
      // An update may have come while the loop was ending.
      if (status.working && status.pendingUpdate !== undefined && this.podSyncStatuses.get(status.uid) === status)
        this.#wake(status);
    });
    this.#podLoops.set(status.uid, loop);
  }

  /** Runs the pod's next step now, with the last update if none is pending. */
  #requeueLastUpdate(status: PodSyncStatus): void {
    status.pendingUpdate ??= status.activeUpdate;
    if (status.pendingUpdate !== undefined) this.#wake(status);
  }

  async #managePodLoop(status: PodSyncStatus): Promise<void> {
    while (!this.#stopped && this.podSyncStatuses.get(status.uid) === status) {
      const work = this.#startPodSync(status);
      if (work === undefined) return;
      const startedMs = this.#nowMs();
      const noteEnd = this.#deps.activity?.step(status.uid, work.workType);
      let outcome: SyncPodOutcome = { terminal: false };
      let error: unknown;
      try {
        outcome = await this.#runStep(status, work);
        status.lastSyncStamp = outcome.actedAt ?? status.lastSyncStamp;
      } catch (thrown) {
        status.lastSyncStamp = this.#deps.podCache.now();
        error = thrown ?? new Error('sync failed without a reason');
      }
      this.#metrics.duration.observe((this.#nowMs() - startedMs) / 1000, { operation_type: work.options.updateType });
      work.options.onComplete?.(error);
      const nextSyncMs = this.#completeWork(status, work, { outcome, error });
      noteEnd?.({ error: error === undefined ? undefined : errorMessage(error), nextSyncMs });
      // The controller is dropped, since thousands of idle pods need none.
      if (status.controller?.signal.aborted === false) status.controller = undefined;
    }
  }

  /** Takes the pending update; undefined when there is none or the pod may not start yet. */
  #startPodSync(status: PodSyncStatus): PodWork | undefined {
    const options = status.pendingUpdate;
    if (options === undefined) {
      status.working = false;
      return undefined;
    }
    status.pendingUpdate = undefined;
    const workType = workTypeOf(status);
    const onlyEnds = options.pod === undefined && workType === 'terminating';
    if (status.startedAt === undefined && !onlyEnds && !this.#mayStart(status, options)) return undefined;
    if (status.controller === undefined || status.controller.signal.aborted) status.controller = new AbortController();
    mergeLastUpdate(status, options);
    return { workType, options };
  }

  #mayStart(status: PodSyncStatus, options: UpdatePodOptions): boolean {
    const pod = options.pod;
    if (pod !== undefined && isStaticPod(pod)) {
      if (status.terminatingAt !== undefined && status.terminatedAt === undefined && !status.observedRuntime) {
        this.#endUnstarted(status);
        return false;
      }
      const gone = (uid: string): boolean =>
        this.podSyncStatuses.get(uid)?.terminatingAt !== undefined || !this.podSyncStatuses.has(uid);
      if (!this.staticPods.allowStart(status.fullName, status.uid, gone)) {
        status.pendingUpdate = options;
        status.working = false;
        this.#deps.workQueue.enqueue(status.uid, this.#delays.backOffMs());
        return false;
      }
    }
    status.startedAt = this.#nowMs();
    if (options.startTimeMs !== undefined)
      this.#metrics.startDuration.observe((status.startedAt - options.startTimeMs) / 1000);
    return true;
  }

  /** The delay until the pod is synced again, in milliseconds; undefined: at once, or never. */
  #completeWork(status: PodSyncStatus, work: PodWork, result: SyncResult): number | undefined {
    let nextSyncMs: number | undefined;
    if (result.error !== undefined) {
      // A sync that was cancelled for a pending update has not failed.
      if (status.controller?.signal.aborted !== true)
        logSyncFailure(this.#log, { uid: status.uid, pod: work.options.pod }, result.error);
      nextSyncMs = this.#requeueLater(status, result);
    } else if (work.workType === 'terminated') {
      this.#finish(status);
      return undefined;
    } else if (work.workType === 'terminating') {
      this.#completeTerminating(status, work);
      return undefined;
    } else if (result.outcome.terminal) {
      status.terminatingAt ??= this.#nowMs();
      status.startedTerminating = true;
      this.#requeueLastUpdate(status);
      return undefined;
    } else {
      nextSyncMs = this.#requeueLater(status, result);
    }
    // A sync that was cancelled without a pending update is repeated.
    if (status.pendingUpdate === undefined && status.controller?.signal.aborted === true)
      this.#requeueLastUpdate(status);
    return nextSyncMs;
  }

  #completeTerminating(status: PodSyncStatus, work: PodWork): void {
    this.#noteTerminated(status);
    status.statusPostTerminating = [];
    if (work.options.pod === undefined) this.#finish(status);
    else this.#requeueLastUpdate(status);
  }

  #requeueLater(status: PodSyncStatus, result: SyncResult): number {
    const delayMs = this.#delays.after(result);
    this.#deps.workQueue.enqueue(status.uid, delayMs);
    return delayMs;
  }

  #finish(status: PodSyncStatus): void {
    status.finished = true;
    status.working = false;
    status.pendingUpdate = undefined;
    this.#deps.workQueue.remove(status.uid);
    this.#releaseStatic(status);
  }

  #noteTerminated(status: PodSyncStatus): void {
    status.terminatedAt = this.#nowMs();
    for (const notify of status.onTerminated.splice(0)) notify();
  }

  /** Finishes a static pod that never started, without any step. */
  #endUnstarted(status: PodSyncStatus): void {
    this.#noteTerminated(status);
    this.#finish(status);
  }

  #releaseStatic(status: PodSyncStatus): void {
    const next = this.staticPods.release(status.fullName, status.uid);
    const waiting = next === undefined ? undefined : this.podSyncStatuses.get(next);
    if (waiting?.pendingUpdate !== undefined) this.#wake(waiting);
  }

  /** Returns true when the record was removed. An orphan that still runs is terminated first. */
  #removeTerminatedWorker(status: PodSyncStatus, orphan: boolean): boolean {
    if (orphan && !status.finished) status.deleted = true;
    if (!isRemovable(status, orphan)) {
      if (orphan) this.#terminateOrphan(status);
      return false;
    }
    this.podSyncStatuses.delete(status.uid);
    this.#deps.workQueue.remove(status.uid);
    this.#releaseStatic(status);
    return true;
  }

  #terminateOrphan(status: PodSyncStatus): void {
    if (status.terminatingAt === undefined) {
      status.terminatingAt = this.#nowMs();
      status.gracePeriod = effectiveGracePeriod(status, status.activeUpdate?.pod, {}).seconds;
      status.controller?.abort(new Error('pod is no longer configured'));
      this.#requeueLastUpdate(status);
    } else if (!status.working) this.#requeueLastUpdate(status);
  }
}
