/** Which nodes need a daemon pod and which daemon pods must go. Pure. Upstream: daemon_controller podsShouldBeOnNode. */
import type { DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { isPodAvailable, isPodReady } from '../../component-helpers/pods.ts';
import { REVISION_HASH_LABEL } from '../controller-history.ts';
import { allowsSurge, shouldRun, type PodsByNode } from './daemon-sets.ts';

/** A daemon pod that ended. */
export interface EndedPod {
  readonly pod: Pod;
  readonly nodeName: string;
}

/** What to do. */
export interface DaemonPlan {
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
  /** Failed pods: removed with a back-off per node. */
  readonly failed: readonly EndedPod[];
  readonly succeeded: readonly EndedPod[];
}

/** The state looked at. */
export interface DaemonView {
  readonly set: DaemonSet;
  readonly nodes: readonly Node[];
  readonly pods: PodsByNode;
  /** Hash of the current revision. */
  readonly hash: string;
  readonly nowMs: number;
}

interface Draft {
  readonly create: string[];
  readonly remove: Pod[];
  readonly failed: EndedPod[];
  readonly succeeded: EndedPod[];
}

/** Looks at every node, and at pods waiting for nodes that are gone. */
export function planPods(view: DaemonView): DaemonPlan {
  const plan: Draft = { create: [], remove: [], failed: [], succeeded: [] };
  for (const node of view.nodes) planNode(view, node, plan);
  const known = new Set(view.nodes.map((node) => node.metadata.name));
  for (const [nodeName, pods] of view.pods) {
    if (!known.has(nodeName)) plan.remove.push(...pods.filter((pod) => (pod.spec?.nodeName ?? '') === ''));
  }
  return plan;
}

function planNode(view: DaemonView, node: Node, plan: Draft): void {
  const nodeName = node.metadata.name ?? '';
  const { run, stay } = shouldRun(view.set, node);
  const pods = view.pods.get(nodeName);
  if (pods === undefined) return void (run && plan.create.push(nodeName));
  const alive = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  if (!stay) return void plan.remove.push(...alive);
  const running: Pod[] = [];
  for (const pod of alive) {
    if (pod.status?.phase === 'Failed') plan.failed.push({ pod, nodeName });
    else if (pod.status?.phase === 'Succeeded') plan.succeeded.push({ pod, nodeName });
    else running.push(pod);
  }
  if (!allowsSurge(view.set)) return void plan.remove.push(...running.slice(1));
  if (running.length === 0 && run) plan.create.push(nodeName);
  if (running.length > 1) plan.remove.push(...surplusWhileSurging(view, running));
}

/** Two pods stay only while the old one is ready and the new one not yet available. */
function surplusWhileSurging({ set, hash, nowMs }: DaemonView, running: readonly Pod[]): Pod[] {
  const isNew = (pod: Pod): boolean => pod.metadata.labels?.[REVISION_HASH_LABEL] === hash;
  const newest = running.find(isNew);
  const old = running.find((pod) => !isNew(pod));
  const surplus = running.filter((pod) => pod !== newest && pod !== old);
  if (newest === undefined || old === undefined) return surplus;
  if (!isPodReady(old) || isPodAvailable(newest, set.spec?.minReadySeconds ?? 0, nowMs)) surplus.push(old);
  return surplus;
}
