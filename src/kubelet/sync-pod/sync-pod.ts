/**
 * One sync of a running pod: reports its status, prepares it (prepare-pod.ts), and lets the runtime manager apply the
 * seven steps. Upstream: (*Kubelet).SyncPod in pkg/kubelet/kubelet.go.
 *
 * Differs: after changes the pod is inspected and its status reported at once, with the waiting reasons of containers
 * that failed to start; upstream waits for the next relist and sync.
 */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { errorMessage } from '../../base/errors.ts';
import { withPodCondition } from '../../component-helpers/pods.ts';
import { sandboxReadyCondition } from '../status/conditions.ts';
import { untilActiveDeadlineMs } from './active-deadline.ts';
import type { ContainerRuntime, PodStatus as RuntimePodStatus, PodSyncResult } from '../container/runtime.ts';
import type { ObservationStamp } from '../container/pod-cache.ts';
import type { StepScope } from '../../component-helpers/pod-trace/step-scope.ts';
import { PodSyncError, type PodSyncer, type SyncPodOutcome } from '../pod-workers/pod-syncer.ts';
import { podFields, podName, podNamespace, podUid } from '../types/pod-update.ts';
import { createPodPreparation } from './prepare-pod.ts';
import type { SyncPodDeps } from './sync-pod-deps.ts';

/** Reasons of containers in back-off, which do not make the sync a failure. */
const BACK_OFF_REASONS: ReadonlySet<string> = new Set(['CrashLoopBackOff', 'ImagePullBackOff']);

type SyncPodRequest = Parameters<PodSyncer['syncPod']>[0];

export function createSyncPod(deps: SyncPodDeps): PodSyncer['syncPod'] {
  const log = deps.platform.log.child('sync-pod');
  const preparation = createPodPreparation(deps);

  function report(pod: Pod, podStatus: RuntimePodStatus): PodStatus {
    const status = deps.generateStatus(pod, podStatus, false);
    deps.statusManager.setPodStatus(pod, status);
    deps.podStarts.reported(pod, status);
    return status;
  }

  /** Reports a sandbox that is there before its images are, whose pulls may take long. Upstream: OnPodSandboxReady. */
  function reportSandbox(pod: Pod): void {
    const status = deps.statusManager.getPodStatus(podUid(pod));
    if (status === undefined || deps.isPodTerminationRequested(podUid(pod))) return;
    const conditions = withPodCondition(status.conditions, sandboxReadyCondition(pod));
    deps.statusManager.setPodStatus(pod, { ...status, conditions });
  }

  /** Waits for an observation after the runtime's changes, and reports it. */
  async function reportAfterSync(pod: Pod, result: PodSyncResult, signal: AbortSignal): Promise<number> {
    // The runtime's events of these steps arrive first, so that the inspection below covers them.
    await deps.platform.clock.yield();
    const actedAt = deps.podCache.now();
    deps.reasonCache.update(podUid(pod), result);
    try {
      const identity = { uid: podUid(pod), name: podName(pod), namespace: podNamespace(pod) };
      const newStatus = await deps.podCache.getNewerThan(identity, actedAt, signal);
      if (!deps.isPodTerminationRequested(podUid(pod))) report(pod, newStatus);
    } catch (error) {
      if (!signal.aborted) log.warn('Could not inspect the pod after its sync', { ...podFields(pod), err: error });
    }
    return actedAt;
  }

  /** Records a resize failure, which the pod's condition shows until a resize succeeds. */
  function recordResize(pod: Pod, { steps }: PodSyncResult): void {
    const resize = steps.find(({ action }) => action === 'ResizePod');
    if (resize === undefined) return;
    deps.allocations.setResizeFailure(pod, resize.reason === undefined ? undefined : (resize.message ?? resize.reason));
  }

  /** Lets the runtime manager sync the pod. If it changed anything, the new state is reported. */
  async function syncInRuntime(
    request: Parameters<ContainerRuntime['syncPod']>[0],
  ): Promise<{ result: PodSyncResult; actedAt: ObservationStamp | undefined }> {
    const release = deps.holdEvents(podUid(request.pod));
    try {
      const result = await deps.runtime.syncPod(request);
      const acted = result.steps.length > 0 || result.error !== undefined;
      if (!acted) return { result, actedAt: undefined };
      const inspect = () => reportAfterSync(request.pod, result, request.signal);
      return { result, actedAt: await request.trace.step('inspect', inspect) };
    } finally {
      release();
    }
  }

  async function sync(request: SyncPodRequest, trace: StepScope): Promise<SyncPodOutcome> {
    const { podStatus, signal } = request;
    // From here on the pod has its allocated resources instead of the requested ones.
    const pod = await trace.step('allocation', () => deps.allocations.resolve(request.pod, podStatus));
    const status = report(pod, podStatus);
    if (isPodPhaseTerminal(status.phase)) return { terminal: true };
    await preparation.prepare({ ...request, pod, trace });
    const pullSecrets = await trace.step('pull secrets', () => deps.pullSecrets.forPod(pod, signal));
    signal.throwIfAborted();
    deps.probeManager.addPod(pod);
    const beforePull = (): void => reportSandbox(pod);
    const { result, actedAt } = await syncInRuntime({ pod, podStatus, pullSecrets, beforePull, trace, signal });
    recordResize(pod, result);
    const failed =
      result.error !== undefined &&
      !result.steps.every((step) => step.reason === undefined || BACK_OFF_REASONS.has(step.reason));
    const onlyUnexplained = result.error !== undefined && result.steps.every((step) => step.reason === undefined);
    if (failed || onlyUnexplained) {
      throw new PodSyncError(errorMessage(result.error), { cause: result.error, retryAfterMs: result.retryAfterMs });
    }
    const deadlineMs = untilActiveDeadlineMs(pod, status, deps.platform.clock.nowMs());
    const retryAfterMs = Math.min(
      result.retryAfterMs ?? Infinity,
      deadlineMs === undefined ? Infinity : Math.max(deadlineMs, 0),
    );
    const backOff = result.steps.find(({ reason = '' }) => BACK_OFF_REASONS.has(reason))?.reason;
    if (backOff !== undefined) deps.startSteps.backsOff(podUid(pod), backOff);
    return { terminal: false, actedAt, ...(retryAfterMs === Infinity ? {} : { retryAfterMs }) };
  }

  return (request) => deps.startSteps.syncPod(request, (trace) => sync(request, trace));
}
