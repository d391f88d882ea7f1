/**
 * One step of a pod's worker: waits for a sufficiently new status of the runtime and calls the sync for the step.
 * Upstream: the body of podWorkerLoop in pkg/kubelet/pod_workers.go.
 */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { PodCache } from '../container/pod-cache.ts';
import { podName, podNamespace } from '../types/pod-update.ts';
import type { PodSyncStatus, PodWork } from './pod-sync-status.ts';
import type { PodSyncer, SyncPodOutcome } from './pod-syncer.ts';

export interface PodStepsDeps {
  readonly recorder: KubeletEventRecorder;
  readonly podSyncer: PodSyncer;
  readonly podCache: PodCache;
}

/** Runs one step for the pod, cancelled by the record's controller. Rejects with the sync's error. */
export type RunPodStep = (status: PodSyncStatus, work: PodWork) => Promise<SyncPodOutcome>;

export function createPodSteps({ recorder, podSyncer, podCache }: PodStepsDeps): RunPodStep {
  async function runStep(status: PodSyncStatus, work: PodWork): Promise<SyncPodOutcome> {
    const signal = status.controller!.signal;
    const { pod, runningPod } = work.options;
    if (pod === undefined) {
      acknowledgeTerminating(status);
      await podSyncer.syncTerminatingRuntimePod(runningPod!, signal);
      return { terminal: false };
    }
    const podStatus = await statusForSync(status, pod, signal);
    switch (work.workType) {
      case 'terminated':
        await podSyncer.syncTerminatedPod({ pod, podStatus, signal });
        return { terminal: false };
      case 'terminating': {
        const changeStatus = acknowledgeTerminating(status);
        const gracePeriodSeconds =
          work.options.killPodOptions?.gracePeriodSecondsOverride ?? (status.gracePeriod || undefined);
        const request = { pod, podStatus, gracePeriodSeconds, changeStatus, signal };
        const { actedAt } = await podSyncer.syncTerminatingPod(request);
        return { terminal: false, actedAt };
      }
      case 'sync': {
        const { updateType, mirrorPod } = work.options;
        return podSyncer.syncPod({ updateType, pod, mirrorPod, podStatus, signal });
      }
    }
  }

  /**
   * Waits for a status observed after this worker's last step, so that no step uses a state that the worker itself
   * has changed.
   */
  async function statusForSync(
    status: PodSyncStatus,
    pod: Pod,
    signal: AbortSignal,
  ): ReturnType<PodCache['getNewerThan']> {
    const identity = { uid: status.uid, name: podName(pod), namespace: podNamespace(pod) };
    try {
      return await podCache.getNewerThan(identity, status.lastSyncStamp, signal);
    } catch (error) {
      if (!signal.aborted) {
        const text = errorMessage(error);
        recorder.event(pod, 'Warning', 'FailedSync', `error determining status: ${text}`);
      }
      throw error;
    }
  }

  return runStep;
}

function acknowledgeTerminating(status: PodSyncStatus): ((status: PodStatus) => PodStatus) | undefined {
  status.startedTerminating = true;
  const changes = [...status.statusPostTerminating];
  if (changes.length === 0) return undefined;
  return (podStatus) => changes.reduce((changed, change) => change(changed), podStatus);
}
