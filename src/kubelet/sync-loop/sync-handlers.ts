/**
 * Handles the messages of the sync loop: updates the pod manager, admits new pods, wakes pod workers. Upstream:
 * HandlePodAdditions, HandlePodUpdates, HandlePodRemoves, HandlePodReconcile and HandlePodSyncs in pkg/kubelet/kubelet.go.
 */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { parseTime } from '../../api/time.ts';
import { errorMessage } from '../../base/errors.ts';
import type { AdmissionReason, KubeletEventRecorder } from '../event-reasons.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { PodAdmission } from '../admission/pod-admission.ts';
import type { AdmissionResult } from '../admission/predicate.ts';
import type { SyncHandler } from './sync-loop.ts';
import type { PodManager } from '../pod/pod-manager.ts';
import { filterOutInactivePods } from '../pod-workers/active-pods.ts';
import type { PodWorkers } from '../pod-workers/pod-syncer.ts';
import type { StatusManager } from '../status/status-manager.ts';
import { isMirrorPod, podFields, podUid, type SyncPodType } from '../types/pod-update.ts';
import { background } from '../../platform/unexpected.ts';

export interface SyncHandlersDeps {
  readonly platform: BasePlatform;
  readonly recorder: KubeletEventRecorder;
  /** Called for every pod that is added to the kubelet. */
  readonly podSeen: (pod: Pod) => void;
  readonly podManager: PodManager;
  readonly podWorkers: PodWorkers;
  readonly statusManager: StatusManager;
  readonly allSourcesReady: () => boolean;
  readonly canAdmitPod: PodAdmission;
  /** Uids of pods under admission: they are not handed to workers. */
  readonly admitting: Set<string>;
  readonly qosClassOf: (pod: Pod) => string;
  readonly handlePodCleanups: () => Promise<void>;
}

export function createSyncHandlers(deps: SyncHandlersDeps): SyncHandler {
  const { podManager, podWorkers, statusManager } = deps;
  const log = deps.platform.log.child('kubelet');
  const nowMs = (): number => deps.platform.clock.monotonicMs();

  /** Wakes the pod's worker; a changed mirror updates its static pod. Upstream's former dispatchWork. */
  function dispatchWork(podOrMirror: Pod, updateType: SyncPodType, startTimeMs?: number): void {
    const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(podOrMirror);
    if (pod === undefined) {
      log.debug('Unable to find pod for mirror pod, skipping', podFields(podOrMirror));
      return;
    }
    if (deps.admitting.has(podUid(pod))) return; // dispatched in its newest version after admission
    podWorkers.updatePod({ pod, mirrorPod, updateType: wasMirror ? 'update' : updateType, startTimeMs });
  }

  function rejectPod(pod: Pod, reason: AdmissionReason, message: string): void {
    deps.recorder.event(pod, 'Warning', reason, message);
    const generation = pod.metadata.generation;
    const status: PodStatus = {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      qosClass: pod.status?.qosClass ?? deps.qosClassOf(pod),
      phase: 'Failed',
      reason,
      message: `Pod was rejected: ${message}`,
    };
    statusManager.setPodStatus(pod, status);
  }

  /** A pod that is not admitted is rejected here and never reaches a worker. */
  function admitAndDispatch(pod: Pod, startedMs: number): void {
    const uid = podUid(pod);
    const settle = (admitted: Pod, result: AdmissionResult): void => {
      if (result.admit) dispatchWork(admitted, 'create', startedMs);
      else rejectPod(admitted, result.reason, result.message);
    };
    if (
      podWorkers.isPodTerminationRequested(uid) ||
      isPodPhaseTerminal(pod.status?.phase) ||
      pod.metadata.deletionTimestamp !== undefined
    )
      return settle(pod, { admit: true });
    const others = podManager.getPods().filter((other) => podUid(other) !== uid);
    const result = deps.canAdmitPod(pod, { count: others.length, active: () => filterOutInactivePods(others, deps) });
    if (!(result instanceof Promise)) return settle(pod, result);
    deps.admitting.add(uid);
    background(
      log,
      'the admission of a pod broke off',
      result.catch(unexpectedAdmissionError).then((late) => {
        deps.admitting.delete(uid);
        const newest = podManager.getPodByUid(uid);
        if (newest === undefined) return;
        settle(newest, newest.metadata.deletionTimestamp === undefined ? late : { admit: true });
      }),
    );
  }

  function removePod(podOrMirror: Pod): void {
    podManager.removePod(podOrMirror);
    if (deps.admitting.has(podUid(podOrMirror))) return;
    const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(podOrMirror);
    if (wasMirror) {
      if (pod !== undefined)
        podWorkers.updatePod({ pod, mirrorPod: undefined, updateType: 'update', startTimeMs: nowMs() });
      return;
    }
    if (!deps.allSourcesReady()) {
      log.error('Failed to delete pod', {
        ...podFields(podOrMirror),
        err: 'skipping delete because sources are not ready yet',
      });
      return;
    }
    podWorkers.updatePod({ pod: podOrMirror, mirrorPod, updateType: 'kill', startTimeMs: nowMs() });
  }

  return {
    handlePodAdditions(pods) {
      const startedMs = nowMs();
      const byAge = [...pods].sort(
        (a, b) => (parseTime(a.metadata.creationTimestamp) || 0) - (parseTime(b.metadata.creationTimestamp) || 0),
      );
      for (const pod of byAge) {
        podManager.addPod(pod);
        deps.podSeen(pod);
        const { wasMirror } = podManager.getPodAndMirrorPod(pod);
        if (wasMirror) {
          dispatchWork(pod, 'create', startedMs);
          // A new mirror gets its static pod's status at once.
          statusManager.podChanged(pod);
        } else admitAndDispatch(pod, startedMs);
      }
    },
    handlePodUpdates(pods) {
      const startedMs = nowMs();
      for (const pod of pods) {
        podManager.updatePod(pod);
        dispatchWork(pod, 'update', startedMs);
        statusManager.podChanged(pod);
      }
    },
    handlePodRemoves(pods) {
      for (const pod of pods) removePod(pod);
    },
    handlePodReconcile(pods) {
      for (const pod of pods) {
        podManager.updatePod(pod);
        // Another client changed the status: readiness gates may hold now, and the kubelet's own fields are restored.
        const gated = (pod.spec?.readinessGates ?? []).length > 0;
        // A terminal phase that another client wrote ends the pod. That of a mirror does not end its static pod.
        const ended =
          isPodPhaseTerminal(pod.status?.phase) &&
          !isMirrorPod(pod) &&
          !podWorkers.isPodTerminationRequested(podUid(pod));
        if (gated || ended) dispatchWork(pod, 'sync', nowMs());
        statusManager.podChanged(pod);
      }
    },
    handlePodSyncs(pods) {
      for (const podOrMirror of pods) {
        const { pod, mirrorPod, wasMirror } = podManager.getPodAndMirrorPod(podOrMirror);
        if (wasMirror || pod === undefined || deps.admitting.has(podUid(pod))) continue;
        podWorkers.updatePod({ pod, mirrorPod, updateType: 'sync', startTimeMs: nowMs() });
      }
    },
    handlePodCleanups: deps.handlePodCleanups,
  };
}

function unexpectedAdmissionError(error: unknown): AdmissionResult {
  return {
    admit: false,
    reason: 'UnexpectedAdmissionError',
    message: errorMessage(error),
  };
}
