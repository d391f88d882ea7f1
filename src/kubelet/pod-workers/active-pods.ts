/** Which pods hold resources. Upstream: filterOutInactivePods in pkg/kubelet/kubelet_pods.go. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import type { StatusManager } from '../status/status-manager.ts';
import { podUid } from '../types/pod-update.ts';
import type { PodWorkers } from './pod-syncer.ts';

export interface PodStates {
  readonly podWorkers: Pick<PodWorkers, 'isPodKnownTerminated' | 'isPodTerminationRequested'>;
  readonly statusManager: Pick<StatusManager, 'getPodStatus'>;
}

/** Leaves out pods whose containers have stopped, and pods of a terminal phase unless their worker still ends them. */
export function filterOutInactivePods(pods: readonly Pod[], { podWorkers, statusManager }: PodStates): Pod[] {
  return pods.filter((pod) => {
    const uid = podUid(pod);
    if (podWorkers.isPodKnownTerminated(uid)) return false;
    const status = statusManager.getPodStatus(uid) ?? pod.status;
    const isTerminal = isPodPhaseTerminal(status?.phase) || isPodPhaseTerminal(pod.status?.phase);
    return !isTerminal || podWorkers.isPodTerminationRequested(uid);
  });
}
