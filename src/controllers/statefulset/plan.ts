/**
 * What a StatefulSet does next. Pure. Upstream: stateful_set_control.go updateStatefulSet.
 *
 * Ordered sets take one step at a time, lowest ordinal first when growing, highest first when shrinking or updating, and
 * wait for every pod to be available; parallel ones do all of each stage at once.
 */
import { scaledValue } from '../../api/int-or-string.ts';
import type { StatefulSet } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import { allowsBurst, inRange, isHealthy, ordinalOf, ordinalRange, revisionOf } from './identity.ts';

/** The state looked at. */
export interface StatefulView {
  readonly set: Stored<StatefulSet>;
  /** Pods the set controls. */
  readonly pods: readonly Stored<Pod>[];
  /** Names of revisions. */
  readonly currentRevision: string;
  readonly updateRevision: string;
  readonly nowMs: number;
}

/** The actions, in the order they are to be done. */
export interface StatefulPlan {
  /** Ordinals to make, with the revision to make them from. */
  readonly create: readonly { readonly ordinal: number; readonly revision: string }[];
  /** Ended pods, to be deleted and made again. */
  readonly recreate: readonly Stored<Pod>[];
  /** Pods that stay: their claims and identity must be right. */
  readonly keep: readonly Stored<Pod>[];
  /** Pods beyond the range, highest first: their claims follow the retention policy even while they wait. */
  readonly condemned: readonly Stored<Pod>[];
  /** Pods to delete now: condemned ones, or old ones in a rolling update. */
  readonly remove: readonly Stored<Pod>[];
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
  const going = planCondemned(view, condemned);
  const settled = condemned.length === 0 || (allowsBurst(set) && going.length === 0);
  return { ...draft, condemned, remove: settled ? planUpdate(view, replicas) : going };
}

/** The pod of each wanted ordinal, in order. */
function replicasOf({ set, pods }: StatefulView): (Stored<Pod> | undefined)[] {
  const { start, count } = ordinalRange(set);
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
  return Array.from({ length: count }, (_, index) => byOrdinal.get(start + index));
}

/** False when shrinking and updating must wait. */
function planReplicas(view: StatefulView, replicas: readonly (Stored<Pod> | undefined)[], draft: Draft): boolean {
  const { set } = view;
  const ordered = !allowsBurst(set);
  let blocked = false;
  for (const [index, pod] of replicas.entries()) {
    if (pod === undefined) {
      const ordinal = ordinalRange(set).start + index;
      draft.create.push({ ordinal, revision: revisionForNew(view, index) });
      if (ordered) return false;
    } else if (isPodTerminal(pod)) {
      if (pod.metadata.deletionTimestamp === undefined) draft.recreate.push(pod);
      if (ordered) return false;
      blocked = true;
    } else {
      draft.keep.push(pod);
      if (ordered && !isHealthy(set, pod, view.nowMs)) return false;
    }
  }
  return !blocked;
}

/** New pods below the partition stay with the current revision. */
function revisionForNew({ set, currentRevision, updateRevision }: StatefulView, index: number): string {
  const strategy = set.spec?.updateStrategy;
  if (strategy?.type !== 'RollingUpdate') return updateRevision;
  const kept =
    strategy.rollingUpdate === undefined ? (set.status?.currentReplicas ?? 0) : (strategy.rollingUpdate.partition ?? 0);
  return index < kept ? currentRevision : updateRevision;
}

function planCondemned({ set, nowMs }: StatefulView, condemned: readonly Stored<Pod>[]): Stored<Pod>[] {
  const alive = condemned.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  if (allowsBurst(set)) return alive;
  const [first, ...below] = condemned;
  // One at a time: while one goes, the next waits. One that does not work waits too, until all below it do.
  if (first === undefined || first.metadata.deletionTimestamp !== undefined) return [];
  const healthy = (pod: Stored<Pod>): boolean => isHealthy(set, pod, nowMs);
  return healthy(first) || below.every(healthy) ? [first] : [];
}

/** How many pods of so many an update may replace at once. */
export function maxUnavailable({ spec }: Stored<StatefulSet>, replicas: number): number {
  return Math.max(1, scaledValue(spec?.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, replicas, false));
}

function planUpdate(view: StatefulView, replicas: readonly (Stored<Pod> | undefined)[]): Stored<Pod>[] {
  const { set, updateRevision, nowMs } = view;
  const strategy = set.spec?.updateStrategy;
  if (strategy?.type === 'OnDelete') return [];
  const partition = strategy?.rollingUpdate?.partition ?? 0;
  const max = maxUnavailable(set, replicas.length);
  const healthy = (pod: Stored<Pod> | undefined): boolean => isHealthy(set, pod, nowMs);
  const isOld = (pod: Stored<Pod>): boolean => revisionOf(pod) !== updateRevision;
  // Old pods that do not work are replaced freely, but never more pods at once than may be unavailable.
  let unavailable = replicas.filter((pod) => !healthy(pod)).length;
  let replacing = replicas.filter(
    (pod) => !healthy(pod) && (pod === undefined || !isOld(pod) || pod.metadata.deletionTimestamp !== undefined),
  ).length;
  const remove: Stored<Pod>[] = [];
  for (let index = replicas.length - 1; index >= partition && replacing < max; index--) {
    const pod = replicas[index];
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || !isOld(pod)) continue;
    if (healthy(pod) && unavailable >= max) continue;
    if (healthy(pod)) unavailable++;
    replacing++;
    remove.push(pod);
  }
  return remove;
}
