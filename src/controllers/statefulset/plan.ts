/**
 * Plans the next actions of a StatefulSet. Pure. Upstream: stateful_set_control.go updateStatefulSet.
 *
 * Ordered sets take one step at a time, lowest ordinal first when scaling up, highest first when scaling down or
 * updating, and wait for every pod to be available; parallel ones take all steps of a stage at once.
 *
 * Differs: ordinals are never listed, as a client may request 2147483647 replicas. The plan walks over the existing
 * pods and the gaps between them, and one sync of a parallel set creates at most 500 pods, as for ReplicaSets and
 * Jobs. `maxUnavailable` has no effect, as with upstream's gate MaxUnavailableStatefulSet, which is off.
 */
import type { StatefulSet } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import { allowsBurst, inRange, isHealthy, ordinalOf, ordinalRange, revisionOf } from './identity.ts';

export interface StatefulView {
  readonly set: Stored<StatefulSet>;
  /** Pods the set controls. */
  readonly pods: readonly Stored<Pod>[];
  /** Names of revisions. */
  readonly currentRevision: string;
  readonly updateRevision: string;
  readonly nowMs: number;
}

/** The actions, in the order in which they are carried out. */
export interface StatefulPlan {
  /** Ordinals to create, with the revision of each. */
  readonly create: readonly { readonly ordinal: number; readonly revision: string }[];
  /** Ended pods, to be deleted and created again. */
  readonly recreate: readonly Stored<Pod>[];
  /** Pods that stay: their claims and identity are repaired. */
  readonly keep: readonly Stored<Pod>[];
  /** Pods beyond the replicas, highest first: their claims follow the retention policy even while they wait. */
  readonly condemned: readonly Stored<Pod>[];
  /** Pods to delete now: condemned ones, or old ones in a rolling update. */
  readonly remove: readonly Stored<Pod>[];
}

const MAX_CREATIONS_PER_SYNC = 500;

/** A pod within the range, by its distance from the first ordinal. */
interface Replica {
  readonly index: number;
  readonly pod: Stored<Pod>;
}

interface Draft {
  readonly create: { ordinal: number; revision: string }[];
  readonly recreate: Stored<Pod>[];
  readonly keep: Stored<Pod>[];
}

/** Plans one sync. */
export function planStatefulSet(view: StatefulView): StatefulPlan {
  const { set, pods } = view;
  const draft: Draft = { create: [], recreate: [], keep: [] };
  const replicas = replicasOf(view);
  const condemned = pods
    .filter((pod) => ordinalOf(pod) >= 0 && !inRange(set, ordinalOf(pod)))
    .sort((a, b) => ordinalOf(b) - ordinalOf(a));
  if (!planReplicas(view, replicas, draft)) return { ...draft, condemned: [], remove: [] };
  const isWaiting = condemned.length > 0 && !allowsBurst(set);
  const updated = isWaiting ? [] : planUpdate(view, replicas);
  return { ...draft, condemned, remove: [...planCondemned(view, condemned), ...updated] };
}

/** The existing pods within the replicas, lowest ordinal first; the last of two with the same ordinal. */
function replicasOf({ set, pods }: StatefulView): Replica[] {
  const { start } = ordinalRange(set);
  const byIndex = new Map<number, Stored<Pod>>();
  for (const pod of pods) if (inRange(set, ordinalOf(pod))) byIndex.set(ordinalOf(pod) - start, pod);
  return [...byIndex].map(([index, pod]) => ({ index, pod })).sort((a, b) => a.index - b.index);
}

/** False when scaling down and updating must wait. */
function planReplicas(view: StatefulView, replicas: readonly Replica[], draft: Draft): boolean {
  const { set } = view;
  const ordered = !allowsBurst(set);
  let next = 0;
  for (const { index, pod } of replicas) {
    if (planMissing(view, { from: next, to: index }, draft) && ordered) return false;
    next = index + 1;
    if (isPodTerminal(pod)) {
      if (pod.metadata.deletionTimestamp === undefined) draft.recreate.push(pod);
      if (ordered) return false;
    } else {
      draft.keep.push(pod);
      if (ordered && !isHealthy(set, pod, view.nowMs)) return false;
    }
  }
  const missing = planMissing(view, { from: next, to: ordinalRange(set).count }, draft);
  return !(missing && ordered);
}

/**
 * Creates the first of the indexes from `from` to below `to`, or in parallel as many as one sync may; false when
 * there are none.
 */
function planMissing(
  view: StatefulView,
  { from, to }: { readonly from: number; readonly to: number },
  { create }: Draft,
): boolean {
  const { start } = ordinalRange(view.set);
  const max = allowsBurst(view.set) ? MAX_CREATIONS_PER_SYNC : 1;
  for (let index = from; index < to && create.length < max; index++)
    create.push({ ordinal: start + index, revision: revisionForNew(view, index) });
  return from < to;
}

/** New pods below the partition stay with the current revision. */
function revisionForNew({ set, currentRevision, updateRevision }: StatefulView, index: number): string {
  const strategy = set.spec?.updateStrategy;
  if (strategy?.type !== 'RollingUpdate') return updateRevision;
  const currentReplicas =
    strategy.rollingUpdate === undefined ? (set.status?.currentReplicas ?? 0) : (strategy.rollingUpdate.partition ?? 0);
  return index < currentReplicas ? currentRevision : updateRevision;
}

function planCondemned({ set, nowMs }: StatefulView, condemned: readonly Stored<Pod>[]): Stored<Pod>[] {
  const alive = condemned.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  if (allowsBurst(set)) return alive;
  const [first, ...below] = condemned;
  // One at a time: while one terminates, the next waits. A pod that is not available waits until all below it are.
  if (first === undefined || first.metadata.deletionTimestamp !== undefined) return [];
  const healthy = (pod: Stored<Pod>): boolean => isHealthy(set, pod, nowMs);
  return healthy(first) || below.every(healthy) ? [first] : [];
}

/**
 * The pod that a rolling update replaces next: one at a time, the highest ordinal first. The update waits at a pod
 * that is missing or not available, so the pods below it stay.
 */
function planUpdate(view: StatefulView, replicas: readonly Replica[]): Stored<Pod>[] {
  const { set, updateRevision, nowMs } = view;
  const strategy = set.spec?.updateStrategy;
  if (strategy?.type === 'OnDelete') return [];
  const partition = strategy?.rollingUpdate?.partition ?? 0;
  let expected = ordinalRange(set).count - 1;
  for (const { index, pod } of replicas.toReversed()) {
    // An ended pod is recreated by another part of the plan.
    if (index < partition || index < expected || isPodTerminal(pod)) return [];
    if (revisionOf(pod) !== updateRevision && pod.metadata.deletionTimestamp === undefined) return [pod];
    if (!isHealthy(set, pod, nowMs)) return [];
    expected = index - 1;
  }
  return [];
}
