/**
 * One sync of a running pod: reports its status, prepares its surroundings (cgroup, mirror, directories, volumes, probes)
 * and lets the runtime do the seven steps. Upstream: (*Kubelet).SyncPod in pkg/kubelet/kubelet.go.
 *
 * Differs: after the runtime has acted, the pod is looked at again and its status reported at once; upstream waits for
 * the next relist and sync. Waiting reasons of containers that failed to start are so reported without delay.
 */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { errorMessage } from '../../base/errors.ts';
import { convertPodStatusToRunningPod } from '../container/helpers.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { AllocationManager } from '../allocation/allocation-manager.ts';
import type { ContainerManager } from '../container-manager/container-manager.ts';
import { untilActiveDeadlineMs } from './active-deadline.ts';
import type { PodContainerManager } from '../cgroups/pod-container-manager.ts';
import type { ContainerRuntime, PodStatus as RuntimePodStatus, PodSyncResult } from '../container/runtime.ts';
import { killPod } from './kill-pod.ts';
import type { RuntimeState } from '../node-status/runtime-state.ts';
import type { ObservationStamp, PodCache } from '../container/pod-cache.ts';
import type { PodStarts } from '../metrics/pod-starts.ts';
import type { PodDirectories } from '../pod/pod-directories.ts';
import { PodSyncError, type PodSyncer, type SyncPodOutcome } from '../pod-workers/pod-syncer.ts';
import { NETWORK_NOT_READY_MESSAGE } from '../pod-workers/requeue-delay.ts';
import type { ProbeManager } from '../prober/prober-manager.ts';
import type { PullSecrets } from './pull-secrets.ts';
import { sandboxChanged } from '../runtime/compute-pod-actions.ts';
import type { ReasonCache } from '../status/reason-cache.ts';
import type { StatusManager } from '../status/status-manager.ts';
import { isHostNetworkPod, podFields, podName, podNamespace, podUid } from '../types/pod-update.ts';
import type { VolumeManager } from '../volumes/volume-manager-contract.ts';

/** What the syncs of a pod use. */
export interface SyncPodDeps {
  readonly platform: BasePlatform;
  readonly recorder: KubeletEventRecorder;
  readonly runtime: ContainerRuntime;
  readonly podCache: PodCache;
  readonly podContainers: PodContainerManager;
  readonly volumes: VolumeManager;
  readonly directories: PodDirectories;
  readonly statusManager: StatusManager;
  readonly probeManager: ProbeManager;
  readonly reasonCache: ReasonCache;
  readonly runtimeState: RuntimeState;
  readonly pullSecrets: PullSecrets;
  readonly allocations: AllocationManager;
  /** Claims of the pod, made ready and given back by their drivers. */
  readonly dynamicResources: Pick<ContainerManager, 'prepareDynamicResources' | 'unprepareDynamicResources'>;
  readonly reconcileMirrorPod: (pod: Pod, mirrorPod: Pod | undefined) => Promise<void>;
  readonly isPodTerminationRequested: (uid: string) => boolean;
  /** Upstream has none: while the runtime works for the pod, its events need no inspections of their own. */
  readonly holdEvents: (uid: string) => () => void;
  readonly podStarts: Pick<PodStarts, 'reported'>;
  /** Wired status generation. */
  readonly generateStatus: (pod: Pod, runtimeStatus: RuntimePodStatus, podIsTerminal: boolean) => PodStatus;
}

/** Reasons that only say "not yet": the sync itself went well. */
const BACK_OFF_REASONS: ReadonlySet<string> = new Set(['CrashLoopBackOff', 'ImagePullBackOff']);

type SyncPodRequest = Parameters<PodSyncer['syncPod']>[0];

export function createSyncPod(deps: SyncPodDeps): PodSyncer['syncPod'] {
  const log = deps.platform.log.child('sync-pod');

  function report(pod: Pod, podStatus: RuntimePodStatus): PodStatus {
    const status = deps.generateStatus(pod, podStatus, false);
    deps.statusManager.setPodStatus(pod, status);
    deps.podStarts.reported(pod, status);
    return status;
  }

  function checkNetwork(pod: Pod): void {
    const problems = deps.runtimeState.networkErrors();
    if (problems.length === 0 || isHostNetworkPod(pod)) return;
    const message = `${NETWORK_NOT_READY_MESSAGE}: ${problems.join(', ')}`;
    deps.recorder.event(pod, 'Warning', 'NetworkNotReady', message);
    throw new Error(message);
  }

  /** A running pod whose cgroup vanished is ended first, so that its containers come back under the right limits. */
  async function ensureCgroup(pod: Pod, podStatus: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    if (deps.isPodTerminationRequested(podUid(pod)) || (await deps.podContainers.podCgroupExists(pod))) return;
    if (podStatus.containers.some((container) => container.state === 'running')) {
      try {
        await killPod(deps.runtime, { pod, runtimePod: convertPodStatusToRunningPod(podStatus), signal });
        if (pod.spec?.restartPolicy === 'Never') return;
      } catch (error) {
        log.error('KillPod failed', { ...podFields(pod), err: error });
      }
    }
    try {
      await deps.podContainers.ensurePodCgroup(pod);
    } catch (error) {
      deps.recorder.event(
        pod,
        'Warning',
        'FailedCreatePodContainer',
        `unable to ensure pod container exists: ${errorMessage(error)}`,
      );
      throw new Error(
        `failed to ensure that the pod: ${podUid(pod)} cgroups exist and are correctly applied: ${errorMessage(error)}`,
        { cause: error },
      );
    }
  }

  async function makeDirectories(pod: Pod): Promise<void> {
    try {
      await deps.directories.makePodDataDirs(podUid(pod));
    } catch (error) {
      deps.recorder.event(pod, 'Warning', 'Failed', `error making pod data directories: ${errorMessage(error)}`);
      throw error;
    }
  }

  async function waitForVolumes(pod: Pod, signal: AbortSignal): Promise<void> {
    try {
      await deps.volumes.waitForAttachAndMount(pod, signal);
    } catch (error) {
      if (!signal.aborted) {
        const text = errorMessage(error);
        const message = text.startsWith('Unable to') ? text : `Unable to attach or mount volumes: ${text}`;
        deps.recorder.event(pod, 'Warning', 'FailedMount', message);
      }
      throw error;
    }
  }

  async function prepareResources(pod: Pod): Promise<void> {
    try {
      await deps.dynamicResources.prepareDynamicResources(pod);
    } catch (error) {
      const message = `Failed to prepare dynamic resources: ${errorMessage(error)}`;
      deps.recorder.event(pod, 'Warning', 'FailedPrepareDynamicResources', message);
      throw error;
    }
  }

  /** Looks at what the runtime made of it and reports that. */
  async function reportAfter(pod: Pod, result: PodSyncResult, signal: AbortSignal): Promise<number> {
    // What the runtime told of the steps comes in first: the look below sees it, and no other is needed for it.
    await deps.platform.clock.yield();
    const actedAt = deps.podCache.now();
    deps.reasonCache.update(podUid(pod), result);
    try {
      const identity = { uid: podUid(pod), name: podName(pod), namespace: podNamespace(pod) };
      const seen = await deps.podCache.getNewerThan(identity, actedAt, signal);
      if (!deps.isPodTerminationRequested(podUid(pod))) report(pod, seen);
    } catch (error) {
      if (!signal.aborted) log.warn('Could not look at the pod after its sync', { ...podFields(pod), err: error });
    }
    return actedAt;
  }

  /** A resize that failed is told in the pod's condition; the next one that works takes that back. */
  function noteResize(pod: Pod, { steps }: PodSyncResult): void {
    const resize = steps.find(({ action }) => action === 'ResizePod');
    if (resize === undefined) return;
    deps.allocations.noteFailure(pod, resize.reason === undefined ? undefined : (resize.message ?? resize.reason));
  }

  /** Lets the runtime do its steps; if it did any, what came of them is looked at and reported. */
  async function act(
    request: Parameters<ContainerRuntime['syncPod']>[0],
  ): Promise<{ result: PodSyncResult; actedAt: ObservationStamp | undefined }> {
    const release = deps.holdEvents(podUid(request.pod));
    try {
      const result = await deps.runtime.syncPod(request);
      const acted = result.steps.length > 0 || result.error !== undefined;
      return { result, actedAt: acted ? await reportAfter(request.pod, result, request.signal) : undefined };
    } finally {
      release();
    }
  }

  return async (request: SyncPodRequest): Promise<SyncPodOutcome> => {
    const { mirrorPod, podStatus, signal } = request;
    // From here on the pod is what it has been given, not what it asks for.
    const pod = await deps.allocations.resolve(request.pod, podStatus);
    const status = report(pod, podStatus);
    if (isPodPhaseTerminal(status.phase)) return { terminal: true };
    checkNetwork(pod);
    await ensureCgroup(pod, podStatus, signal);
    await deps.reconcileMirrorPod(pod, mirrorPod);
    await makeDirectories(pod);
    await waitForVolumes(pod, signal);
    // Of a pod that has its sandbox no driver is asked: a driver that is away must not keep its containers from restarting.
    if (sandboxChanged(pod, podStatus).changed) await prepareResources(pod);
    const pullSecrets = await deps.pullSecrets.forPod(pod);
    signal.throwIfAborted();
    deps.probeManager.addPod(pod);
    const { result, actedAt } = await act({ pod, podStatus, pullSecrets, signal });
    noteResize(pod, result);
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
    return { terminal: false, actedAt, ...(retryAfterMs === Infinity ? {} : { retryAfterMs }) };
  };
}
