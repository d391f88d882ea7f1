/**
 * Which pods a step of a rolling update replaces. Pure. Upstream: daemon/update.go rollingUpdate. Differs on purpose:
 * nodes whose old pod is unavailable use up maxUnavailable before healthy pods do.
 */
import type { DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { allowsSurge, isUpdated, rollingLimits } from './daemon-sets.ts';
import { isAvailable, type NodeView } from './node-view.ts';
import { appendAll } from '../../base/lists.ts';

export interface RollingStep {
  readonly create: readonly string[];
  readonly remove: readonly Stored<Pod>[];
}

/**
 * When the step on a node is taken: `now` always, `in turn` within the limit, `once spare` when enough other nodes
 * are available.
 */
export type RollingTurn = 'now' | 'in turn' | 'once spare';

/** The state of a node in a rolling update. */
export interface NodeRollout {
  /** Counts against maxUnavailable, or against maxSurge while surging. */
  readonly takesPart: boolean;
  /** While surging: whether a pod of the node is available. */
  readonly serves?: boolean;
  /** The step on the node and when it may be taken. */
  readonly step?: RollingStep & { readonly when: RollingTurn };
}

/** The state of a rolling update, summed over the nodes. */
export interface RolloutView {
  /** Nodes that should have a pod. */
  readonly desired: number;
  /** Nodes that already count against the limit. */
  readonly takingPart: number;
  /** Nodes with an available pod. */
  readonly serving: number;
  /** The steps, by when they may be taken. */
  readonly steps: Readonly<Record<RollingTurn, Iterable<RollingStep>>>;
}

/** The next step; empty while the steps under way use up the limit. */
export function planRollingUpdate(set: DaemonSet, view: RolloutView): RollingStep {
  const { maxSurge, maxUnavailable } = rollingLimits(set, view.desired);
  const create: string[] = [];
  const remove: Stored<Pod>[] = [];
  const take = (step: RollingStep): void => {
    appendAll(create, step.create);
    appendAll(remove, step.remove);
  };
  const takeFirst = (steps: Iterable<RollingStep>, count: number): void => {
    let left = count;
    for (const step of steps) {
      if (left-- <= 0) break;
      take(step);
    }
  };
  takeFirst(view.steps.now, Infinity);
  takeFirst(view.steps['in turn'], (allowsSurge(set) ? maxSurge : maxUnavailable) - view.takingPart);
  takeFirst(view.steps['once spare'], view.serving - view.desired);
  return { create, remove };
}

/** The rollout state of one node. */
export function rolloutOf(view: NodeView): NodeRollout {
  if (view.pods.length === 0 && !view.run) return { takesPart: false };
  return allowsSurge(view.set) ? surge(view) : replace(view);
}

interface NodePods {
  readonly newPod?: Stored<Pod>;
  readonly oldPod?: Stored<Pod>;
}

/** The node's new and old pod; undefined when there are several of one revision, which the main plan deletes first. */
function podsOn(view: NodeView): NodePods | undefined {
  const alive = view.pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const newPods = alive.filter((pod) => isUpdated(view.set, pod, view.hash));
  const oldPods = alive.filter((pod) => !isUpdated(view.set, pod, view.hash));
  if (newPods.length > 1 || oldPods.length > 1) return undefined;
  const [newPod] = newPods;
  const [oldPod] = oldPods;
  return { newPod, oldPod };
}

function replace(view: NodeView): NodeRollout {
  const pods = podsOn(view);
  const only = pods?.newPod === undefined ? pods?.oldPod : pods.oldPod === undefined ? pods.newPod : undefined;
  const isBroken = only === undefined || !isAvailable(view, only);
  if (only === undefined || only === pods?.newPod) return { takesPart: isBroken };
  return { takesPart: isBroken, step: { when: isBroken ? 'now' : 'in turn', create: [], remove: [only] } };
}

function surge(view: NodeView): NodeRollout {
  const pods = podsOn(view);
  if (pods === undefined) return { takesPart: true };
  const { oldPod, newPod } = pods;
  if (oldPod === undefined) return { takesPart: false, serves: newPod !== undefined && isAvailable(view, newPod) };
  const serves = isAvailable(view, oldPod);
  const removal = { create: [], remove: [oldPod] };
  if (newPod !== undefined) {
    if (!isAvailable(view, newPod)) return { takesPart: true, serves };
    return { takesPart: false, serves, step: { when: 'now', ...removal } };
  }
  // The new template may not run here, so there is no pod to surge: the old pod is just deleted, when it may be.
  if (!view.run) return { takesPart: false, serves, step: { when: serves ? 'once spare' : 'now', ...removal } };
  return { takesPart: false, serves, step: { when: serves ? 'in turn' : 'now', create: [view.nodeName], remove: [] } };
}
