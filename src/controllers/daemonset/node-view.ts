/** One node as a DaemonSet sees it. Pure. */
import type { DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodAvailable, isPodTerminal } from '../../component-helpers/pods.ts';
import { inOrder, shouldRun } from './daemon-sets.ts';

/** A DaemonSet at one moment. */
export interface Moment {
  readonly set: Stored<DaemonSet>;
  /** Hash of the current revision. */
  readonly hash: string;
  readonly nowMs: number;
}

/** What is on one node, and what the set wants there. */
export interface NodeView extends Moment {
  readonly nodeName: string;
  /** Whether there is such a node: pods may wait for one that is gone. */
  readonly isKnown: boolean;
  /** The set wants a pod there. */
  readonly run: boolean;
  /** A pod that is there may stay. */
  readonly stay: boolean;
  /** Those of the set for this node, without ended ones that are going: bound ones first, then the oldest. */
  readonly pods: readonly Stored<Pod>[];
}

/** Looks at a node. */
export function viewNode(
  moment: Moment,
  on: { readonly nodeName: string; readonly node: Node | undefined; readonly pods: Iterable<Stored<Pod>> },
): NodeView {
  const { nodeName, node } = on;
  const { run, stay } = node === undefined ? { run: false, stay: false } : shouldRun(moment.set, node);
  const pods = inOrder([...on.pods].filter((pod) => !isOver(pod)));
  return { ...moment, nodeName, isKnown: node !== undefined, run, stay, pods };
}

/** It ended and is being deleted: a finalizer may keep it for long, and nobody waits for that with its successor. */
function isOver(pod: Stored<Pod>): boolean {
  return pod.metadata.deletionTimestamp !== undefined && isPodTerminal(pod);
}

/** Whether the pod counts as available to the set. */
export function isAvailable({ set, nowMs }: Moment, pod: Stored<Pod>): boolean {
  return isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs);
}
