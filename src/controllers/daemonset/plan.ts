/**
 * Which nodes need a daemon pod and which daemon pods must be deleted. Pure. Upstream: daemon_controller
 * podsShouldBeOnNode.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import { REVISION_HASH_LABEL } from '../controller-history.ts';
import { allowsSurge } from './daemon-sets.ts';
import { isAvailable, type NodeView } from './node-view.ts';
import { appendAll } from '../../base/lists.ts';

/** A daemon pod that ended. */
export interface EndedPod {
  readonly pod: Stored<Pod>;
  readonly nodeName: string;
}

export interface DaemonPlan {
  readonly create: readonly string[];
  readonly remove: readonly Stored<Pod>[];
  /** Failed pods: deleted with a back-off per node. */
  readonly failed: readonly EndedPod[];
  readonly succeeded: readonly EndedPod[];
}

interface Draft {
  readonly create: string[];
  readonly remove: Stored<Pod>[];
  readonly failed: EndedPod[];
  readonly succeeded: EndedPod[];
}

/** Plans each of these nodes. */
export function planPods(views: Iterable<NodeView>): DaemonPlan {
  const plan: Draft = { create: [], remove: [], failed: [], succeeded: [] };
  for (const view of views) planNode(view, plan);
  return plan;
}

/** Whether the plan is empty. */
export function isNothing({ create, remove, failed, succeeded }: DaemonPlan): boolean {
  return create.length + remove.length + failed.length + succeeded.length === 0;
}

function planNode(view: NodeView, plan: Draft): void {
  const { nodeName, pods, run } = view;
  // The pod garbage collector deletes pods bound to a node that is gone.
  if (!view.isKnown) {
    appendAll(
      plan.remove,
      pods.filter((pod) => (pod.spec?.nodeName ?? '') === ''),
    );
    return;
  }
  if (pods.length === 0) {
    if (run) plan.create.push(nodeName);
    return;
  }
  const alive = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  if (!view.stay) {
    appendAll(plan.remove, alive);
    return;
  }
  const running: Stored<Pod>[] = [];
  for (const pod of alive) {
    if (pod.status?.phase === 'Failed') plan.failed.push({ pod, nodeName });
    else if (pod.status?.phase === 'Succeeded') plan.succeeded.push({ pod, nodeName });
    else running.push(pod);
  }
  if (!allowsSurge(view.set)) {
    appendAll(plan.remove, running.slice(1));
    return;
  }
  if (running.length === 0 && run) plan.create.push(nodeName);
  if (running.length > 1) appendAll(plan.remove, surplusWhileSurging(view, running));
}

/**
 * The pods to delete while surging: two pods are kept only while the old one is ready and the new one is not yet
 * available.
 */
function surplusWhileSurging(view: NodeView, running: readonly Stored<Pod>[]): Stored<Pod>[] {
  const isNew = (pod: Stored<Pod>): boolean => pod.metadata.labels?.[REVISION_HASH_LABEL] === view.hash;
  const newest = running.find(isNew);
  const old = running.find((pod) => !isNew(pod));
  const surplus = running.filter((pod) => pod !== newest && pod !== old);
  if (newest === undefined || old === undefined) return surplus;
  if (!isPodReady(old) || isAvailable(view, newest)) surplus.push(old);
  return surplus;
}
