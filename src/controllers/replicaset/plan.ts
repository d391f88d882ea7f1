/** What a ReplicaSet has to do about its pods: the pure part. Upstream: ReplicaSetController.manageReplicas. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { parseTime } from '../../api/time.ts';
import { rankPodsForDeletion } from '../../component-helpers/pod-deletion-ranking.ts';

/** At most so many creations or deletions in one round. */
export const BURST_REPLICAS = 500;

/** Creates, deletes, or nothing. */
export type ReplicaPlan =
  | { readonly action: 'none' }
  | { readonly action: 'create'; readonly count: number }
  | { readonly action: 'delete'; readonly pods: readonly Pod[]; readonly ageRatio?: number };

/** Compares the wanted number with the active pods; `siblings` are active pods of related owners, for spreading. */
export function planReplicas(
  desired: number,
  pods: readonly Pod[],
  context: { readonly siblings: () => readonly Pod[]; readonly nowMs: number },
): ReplicaPlan {
  const surplus = pods.length - desired;
  if (surplus === 0) return { action: 'none' };
  if (surplus < 0) return { action: 'create', count: Math.min(-surplus, BURST_REPLICAS) };
  const count = Math.min(surplus, BURST_REPLICAS);
  if (count === pods.length) return { action: 'delete', pods };
  const perNode = new Map<string, number>();
  for (const pod of context.siblings()) {
    const node = pod.spec?.nodeName ?? '';
    if (node !== '') perNode.set(node, (perNode.get(node) ?? 0) + 1);
  }
  const ranked = rankPodsForDeletion(pods, (pod) => perNode.get(pod.spec?.nodeName ?? '') ?? 0, context.nowMs);
  return { action: 'delete', pods: ranked.slice(0, count), ageRatio: ageRatio(ranked, count, context.nowMs) };
}

/** Age of the youngest victim that is ready over that of the youngest pod: 1 unless it is not the youngest that go. */
function ageRatio(ranked: readonly Pod[], count: number, nowMs: number): number {
  const youngest = (pods: readonly Pod[]): number =>
    Math.min(...pods.map((pod) => nowMs - parseTime(pod.metadata.creationTimestamp)).filter((ms) => !Number.isNaN(ms)));
  const [chosen, all] = [youngest(ranked.slice(0, count)), youngest(ranked)];
  return all === 0 || chosen === all ? 1 : chosen / all;
}
