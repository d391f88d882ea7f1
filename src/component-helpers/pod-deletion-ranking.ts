/**
 * Which pods to delete first when there are too many. Upstream: controller.ActivePodsWithRanks.
 *
 * In order: unassigned before assigned, Pending before Unknown before Running, not ready before ready, lower deletion
 * cost, more siblings on the node, ready for a shorter time, more restarts, younger. Times compare by powers of two, so
 * that among pods of about the same age the choice is arbitrary (by uid).
 */
import { parseTime } from '../api/time.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import { isPodReady, podCondition } from './pods.ts';
import { largest } from '../base/lists.ts';
import { compareTexts } from '../base/compare-texts.ts';

/** Annotation with an integer: pods with a higher cost are deleted later. */
const POD_DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/** The pods sorted so that those to delete first come first. `rankOf`: siblings on the pod's node. */
export function rankPodsForDeletion(
  pods: readonly Stored<Pod>[],
  rankOf: (pod: Pod) => number,
  nowMs: number,
): Stored<Pod>[] {
  const facts = new Map(pods.map((pod) => [pod, factsOf(pod, rankOf(pod), nowMs)]));
  return [...pods].sort((a, b) => compare(facts.get(a) as Facts, facts.get(b) as Facts));
}

interface Facts {
  readonly ordered: readonly number[];
  readonly uid: string;
}

const PHASE_RANK: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

function factsOf(pod: Stored<Pod>, rank: number, nowMs: number): Facts {
  const ready = isPodReady(pod);
  return {
    uid: pod.metadata.uid,
    ordered: [
      (pod.spec?.nodeName ?? '') === '' ? 0 : 1,
      PHASE_RANK[pod.status?.phase ?? ''] ?? 0,
      ready ? 1 : 0,
      deletionCost(pod),
      -rank,
      ready ? ageRank(podCondition(pod, 'Ready')?.lastTransitionTime, nowMs) : 0,
      -restarts(pod),
      ageRank(pod.metadata.creationTimestamp, nowMs),
    ],
  };
}

function compare(a: Facts, b: Facts): number {
  for (const [index, value] of a.ordered.entries()) {
    const difference = value - (b.ordered[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return compareTexts(a.uid, b.uid);
}

/** The binary logarithm of the age; unknown or future times count as youngest. */
function ageRank(time: string | undefined, nowMs: number): number {
  const ageMs = nowMs - parseTime(time);
  return ageMs > 0 ? Math.floor(Math.log2(ageMs * 1e6)) : -1;
}

function deletionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.[POD_DELETION_COST] ?? '0';
  return /^(0|-?[1-9]\d{0,9})$/.test(text) ? Number(text) : 0;
}

function restarts(pod: Pod): number {
  return largest(
    (pod.status?.containerStatuses ?? []).map((status) => status.restartCount),
    0,
  );
}
