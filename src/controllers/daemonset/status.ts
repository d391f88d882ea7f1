/** The status of a DaemonSet. Pure. Upstream: daemon_controller updateDaemonSetStatus. */
import type { DaemonSet, DaemonSetStatus } from '../../api/gen/apps-v1.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import { isUpdated } from './daemon-sets.ts';
import { isAvailable, type NodeView } from './node-view.ts';

/** Numbers of nodes by their state. */
export interface NodeCounts {
  readonly desired: number;
  /** Nodes that should have a pod and do; the following numbers are parts of it. */
  readonly current: number;
  readonly ready: number;
  readonly available: number;
  readonly updated: number;
  /** Nodes with a pod that should not be there. */
  readonly misscheduled: number;
}

/** The counts of one node, by its first pod. */
export function countNode(view: NodeView): NodeCounts {
  const [pod] = view.pods;
  const counted = pod !== undefined && view.run;
  return {
    desired: view.run ? 1 : 0,
    current: counted ? 1 : 0,
    ready: counted && isPodReady(pod) ? 1 : 0,
    available: counted && isAvailable(view, pod) ? 1 : 0,
    updated: counted && isUpdated(view.set, pod, view.hash) ? 1 : 0,
    misscheduled: pod !== undefined && view.isKnown && !view.run ? 1 : 0,
  };
}

/** The caller sets observedGeneration. */
export function calculateStatus(set: DaemonSet, counts: NodeCounts): DaemonSetStatus {
  return {
    ...set.status,
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    desiredNumberScheduled: counts.desired,
    numberReady: counts.ready,
    updatedNumberScheduled: counts.updated,
    numberAvailable: counts.available,
    numberUnavailable: counts.desired - counts.available,
  };
}
