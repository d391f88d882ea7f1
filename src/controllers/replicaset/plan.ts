/** Plans the creations and deletions of a ReplicaSet's pods. Pure. Upstream: ReplicaSetController.manageReplicas. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { parseTime } from '../../api/time.ts';
import type { Stored } from '../../api/object.ts';
import { rankPodsForDeletion } from '../../component-helpers/pod-deletion-ranking.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import { smallest } from '../../base/lists.ts';

/** The most creations or deletions in one sync. */
const BURST_REPLICAS = 500;

/** Creations, deletions, or nothing. */
export type ReplicaPlan =
  | { readonly action: 'none' }
  | { readonly action: 'create'; readonly count: number }
  | { readonly action: 'delete'; readonly pods: readonly Stored<Pod>[]; readonly ageRatios: readonly number[] };

/** What the choice of victims depends on. */
export interface PlanContext {
  /** The active pods. */
  readonly pods: () => readonly Stored<Pod>[];
  /** Active pods of related owners, for spreading. */
  readonly siblings: () => readonly Pod[];
  readonly nowMs: number;
}

/** Compares the desired number with that of the active pods. */
export function planReplicas(desired: number, active: number, context: PlanContext): ReplicaPlan {
  const surplus = active - desired;
  if (surplus === 0) return { action: 'none' };
  if (surplus < 0) return { action: 'create', count: Math.min(-surplus, BURST_REPLICAS) };
  const count = Math.min(surplus, BURST_REPLICAS);
  const pods = context.pods();
  if (count === pods.length) return { action: 'delete', pods, ageRatios: [] };
  const perNode = new Map<string, number>();
  for (const pod of context.siblings()) {
    const node = pod.spec?.nodeName ?? '';
    if (node !== '') perNode.set(node, (perNode.get(node) ?? 0) + 1);
  }
  const ranked = rankPodsForDeletion(pods, (pod) => perNode.get(pod.spec?.nodeName ?? '') ?? 0, context.nowMs);
  const victims = ranked.slice(0, count);
  return { action: 'delete', pods: victims, ageRatios: ageRatios(victims, pods, context.nowMs) };
}

/** The age of each ready victim relative to the youngest ready pod: 1 where the youngest are deleted first. */
function ageRatios(victims: readonly Pod[], pods: readonly Pod[], nowMs: number): number[] {
  const readyMs = (all: readonly Pod[]): number[] =>
    all
      .filter(isPodReady)
      .map(({ metadata }) => Math.max(1, nowMs - parseTime(metadata.creationTimestamp)))
      .filter((ms) => !Number.isNaN(ms));
  const youngestMs = smallest(readyMs(pods));
  return readyMs(victims).map((ms) => ms / youngestMs);
}
