/**
 * Which pods to replace in this step of a rolling update. Pure. Upstream: daemon/update.go rollingUpdate. Differs on
 * purpose: nodes whose old pod is unavailable count as unavailable before healthy pods are taken.
 */
import type { DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { allowsSurge, isUpdated, rollingLimits } from './daemon-sets.ts';
import { isAvailable, type NodeView } from './node-view.ts';

/** One step. */
export interface RollingStep {
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
}

/** What a node means to a rolling update. */
export interface NodeRollout {
  /** Takes one of those that may be unavailable, or surging. */
  readonly takesPart: boolean;
  /** What is to be done there: at once, or when its turn comes. */
  readonly step?: RollingStep & { readonly when: 'now' | 'in turn' };
}

/** A rolling update by what its nodes mean to it. */
export interface RolloutView {
  /** Nodes that are to have a pod. */
  readonly desired: number;
  /** Nodes that take part already. */
  readonly takingPart: number;
  readonly now: Iterable<RollingStep>;
  readonly inTurn: Iterable<RollingStep>;
}

/** The next step; empty while what is under way must settle first. */
export function planRollingUpdate(set: DaemonSet, view: RolloutView): RollingStep {
  const { maxSurge, maxUnavailable } = rollingLimits(set, view.desired);
  const create: string[] = [];
  const remove: Pod[] = [];
  const take = (step: RollingStep): void => {
    create.push(...step.create);
    remove.push(...step.remove);
  };
  for (const step of view.now) take(step);
  let left = (allowsSurge(set) ? maxSurge : maxUnavailable) - view.takingPart;
  for (const step of view.inTurn) {
    if (left-- <= 0) break;
    take(step);
  }
  return { create, remove };
}

/** Looks at one node. */
export function rolloutOf(view: NodeView): NodeRollout {
  if (view.pods.length === 0 && !view.run) return { takesPart: false };
  return allowsSurge(view.set) ? surge(view) : replace(view);
}

interface NodePods {
  readonly newPod?: Pod;
  readonly oldPod?: Pod;
}

/** The node's new and old pod; undefined when there are several of one sort, which the main plan settles first. */
function podsOn(view: NodeView): NodePods | undefined {
  const alive = view.pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const newPods = alive.filter((pod) => isUpdated(view.set, pod, view.hash));
  const oldPods = alive.filter((pod) => !isUpdated(view.set, pod, view.hash));
  if (newPods.length > 1 || oldPods.length > 1) return undefined;
  const [newPod] = newPods;
  const [oldPod] = oldPods;
  return { ...(newPod === undefined ? {} : { newPod }), ...(oldPod === undefined ? {} : { oldPod }) };
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
  if (oldPod === undefined) return { takesPart: false };
  const goes = { create: [], remove: [oldPod] };
  if (newPod !== undefined) {
    if (!isAvailable(view, newPod)) return { takesPart: true };
    return { takesPart: false, step: { when: 'now', ...goes } };
  }
  const isBroken = !isAvailable(view, oldPod);
  // Where the new template may not run there is nothing to surge with: an unavailable old pod just goes.
  if (!view.run) return isBroken ? { takesPart: false, step: { when: 'now', ...goes } } : { takesPart: false };
  return { takesPart: false, step: { when: isBroken ? 'now' : 'in turn', create: [view.nodeName], remove: [] } };
}
