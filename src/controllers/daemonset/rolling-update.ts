/**
 * Which pods to replace in this step of a rolling update. Pure. Upstream: daemon/update.go rollingUpdate. Differs on
 * purpose: nodes whose old pod is unavailable count as unavailable before healthy pods are taken.
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

/** When a node's step is due. */
export type RollingTurn = 'now' | 'in turn' | 'once spare';

/** What a node means to a rolling update. */
export interface NodeRollout {
  /** Takes one of those that may be unavailable, or surging. */
  readonly takesPart: boolean;
  /** Surging: its pod serves; the old one, where there are two. */
  readonly serves?: boolean;
  /** What is to be done there: at once, when its turn comes, or once as many others serve as there are to be. */
  readonly step?: RollingStep & { readonly when: RollingTurn };
}

/** A rolling update by what its nodes mean to it. */
export interface RolloutView {
  /** Nodes that are to have a pod. */
  readonly desired: number;
  /** Nodes that take part already. */
  readonly takingPart: number;
  /** Nodes that serve. */
  readonly serving: number;
  /** What is to be done, by when. */
  readonly steps: Readonly<Record<RollingTurn, Iterable<RollingStep>>>;
}

/** The next step; empty while what is under way must settle first. */
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

/** Looks at one node. */
export function rolloutOf(view: NodeView): NodeRollout {
  if (view.pods.length === 0 && !view.run) return { takesPart: false };
  return allowsSurge(view.set) ? surge(view) : replace(view);
}

interface NodePods {
  readonly newPod?: Stored<Pod>;
  readonly oldPod?: Stored<Pod>;
}

/** The node's new and old pod; undefined when there are several of one sort, which the main plan settles first. */
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
  const goes = { create: [], remove: [oldPod] };
  if (newPod !== undefined) {
    if (!isAvailable(view, newPod)) return { takesPart: true, serves };
    return { takesPart: false, serves, step: { when: 'now', ...goes } };
  }
  // Where the new template may not run there is nothing to surge with: an old pod just goes, when it is not missed.
  if (!view.run) return { takesPart: false, serves, step: { when: serves ? 'once spare' : 'now', ...goes } };
  return { takesPart: false, serves, step: { when: serves ? 'in turn' : 'now', create: [view.nodeName], remove: [] } };
}
