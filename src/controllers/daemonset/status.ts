/** The status of a DaemonSet. Pure. Upstream: daemon_controller updateDaemonSetStatus. */
import type { DaemonSetStatus } from '../../api/gen/apps-v1.ts';
import { isPodAvailable, isPodReady } from '../../component-helpers/pods.ts';
import { isUpdated, shouldRun } from './daemon-sets.ts';
import type { DaemonView } from './plan.ts';

/** Counts nodes. The observed generation is the caller's to set. */
export function calculateStatus(view: DaemonView): DaemonSetStatus {
  const { set, pods, hash, nowMs } = view;
  let [desired, current, misscheduled, ready, available, updated] = [0, 0, 0, 0, 0, 0];
  for (const node of view.nodes) {
    const [pod] = pods.get(node.metadata.name ?? '') ?? [];
    if (!shouldRun(set, node).run) {
      if (pod !== undefined) misscheduled++;
      continue;
    }
    desired++;
    if (pod === undefined) continue;
    current++;
    if (isPodReady(pod)) ready++;
    if (isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs)) available++;
    if (isUpdated(set, pod, hash)) updated++;
  }
  return {
    ...set.status,
    currentNumberScheduled: current,
    numberMisscheduled: misscheduled,
    desiredNumberScheduled: desired,
    numberReady: ready,
    updatedNumberScheduled: updated,
    numberAvailable: available,
    numberUnavailable: desired - available,
  };
}
