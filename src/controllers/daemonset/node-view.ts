/** One node from the view of a DaemonSet. Pure. */
import type { DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodAvailable, isPodTerminal } from '../../component-helpers/pods.ts';
import { inOrder, shouldRun } from './daemon-sets.ts';

/** A DaemonSet and its revision at one moment. */
export interface Moment {
  readonly set: Stored<DaemonSet>;
  /** Hash of the current revision. */
  readonly hash: string;
  readonly nowMs: number;
}

/** The pods on one node, and whether one should run there. */
export interface NodeView extends Moment {
  readonly nodeName: string;
  /** Whether the node exists: pods may refer to one that is gone. */
  readonly isKnown: boolean;
  /** Whether a pod should run there. Upstream: shouldRun. */
  readonly run: boolean;
  /** Whether an existing pod may continue there. Upstream: shouldContinueRunning. */
  readonly stay: boolean;
  /** The set's pods for this node, bound ones first, then the oldest; without ended pods that are being deleted. */
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

/**
 * Whether the pod has ended and is being deleted. A finalizer may keep it for long, and its replacement does not
 * wait.
 */
function isOver(pod: Stored<Pod>): boolean {
  return pod.metadata.deletionTimestamp !== undefined && isPodTerminal(pod);
}

/** Whether the pod counts as available to the set. */
export function isAvailable({ set, nowMs }: Moment, pod: Stored<Pod>): boolean {
  return isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs);
}
