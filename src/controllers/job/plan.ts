/** Which pods a job creates or deletes now. Pure. Upstream: manageJob, activePodsForRemoval, firstPendingIndexes. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { rankPodsForDeletion } from '../../component-helpers/pod-deletion-ranking.ts';
import { remainingBackoffMs, remainingIndexBackoffMs } from './backoff.ts';
import { completionIndex } from './indexes.ts';
import { matchFailurePolicy } from './policies.ts';
import {
  INDEX_IGNORED_FAILURES,
  indexFailures,
  isFailed,
  isIndexed,
  lastFailedByIndex,
  replacesOnlyFailed,
  type JobView,
} from './view.ts';

const MAX_PER_SYNC = 500;

export interface PodOrder {
  readonly index?: number;
  /** Failures of the index so far; only with a limit per index. */
  readonly failures?: { readonly counted: number; readonly ignored: number };
}

/** Deletions or creations, never both in one sync. */
export interface JobPlan {
  readonly remove: readonly Stored<Pod>[];
  readonly create: readonly PodOrder[];
  /** When to sync again: back-off delays creations. */
  readonly retryMs?: number;
}

/** Plans one sync of an unfinished job. */
export function planJob(view: JobView): JobPlan {
  const { spec, active } = view;
  if (spec.suspend === true) return { remove: active.slice(0, MAX_PER_SYNC), create: [] };
  const wanted = wantedActive(view);
  const remove = podsForRemoval(view, active.length - wanted).slice(0, MAX_PER_SYNC);
  if (remove.length > 0) return { remove, create: [] };
  const waiting = replacesOnlyFailed(spec) ? view.terminating : 0;
  const missing = Math.min(MAX_PER_SYNC, wanted - waiting - active.length);
  return missing <= 0 ? { remove: [], create: [] } : planCreation(view, missing);
}

function wantedActive({ spec, active, succeeded, failedIndexes }: JobView): number {
  const parallelism = spec.parallelism ?? 1;
  // Without completions any success ends the job: running pods may finish, none is started.
  if (spec.completions === undefined) return succeeded > 0 ? Math.min(active.length, parallelism) : parallelism;
  return Math.max(0, Math.min(spec.completions - succeeded - failedIndexes.size, parallelism));
}

/** Pods without a valid index, duplicates and pods of finished indexes first; then the surplus. */
function podsForRemoval(view: JobView, surplus: number): Stored<Pod>[] {
  const { active, nowMs } = view;
  // In the common case nothing is removed, and nothing is ranked.
  if (surplus <= 0 && !active.some(oddIndex(view))) return [];
  const ranked = rankPodsForDeletion(active, () => 0, nowMs);
  const odd = new Set(ranked.toReversed().filter(oddIndex(view)));
  return [...odd, ...ranked.filter((pod) => !odd.has(pod)).slice(0, Math.max(0, surplus - odd.size))];
}

/**
 * For indexed jobs, called once for each pod: whether it has no index, the index of an earlier pod, or a finished
 * index.
 */
function oddIndex(view: JobView): (pod: Stored<Pod>) => boolean {
  if (!isIndexed(view.spec)) return () => false;
  const seen = new Set<number>();
  return (pod) => {
    const index = completionIndex(pod);
    if (index === undefined || index >= (view.spec.completions ?? 0)) return true;
    if (seen.has(index) || view.failedIndexes.has(index) || view.succeededIndexes.has(index)) return true;
    seen.add(index);
    return false;
  };
}

function planCreation(view: JobView, missing: number): JobPlan {
  if (view.spec.backoffLimitPerIndex !== undefined) return planPerIndex(view, missing);
  const failed = view.pods.filter((pod) => isFailed(view.job, pod));
  const succeeded = view.pods.filter((pod) => pod.status?.phase === 'Succeeded');
  const retryMs = remainingBackoffMs(succeeded, failed, view.nowMs);
  if (retryMs > 0) return { remove: [], create: [], retryMs };
  if (!isIndexed(view.spec)) return { remove: [], create: Array.from({ length: missing }, () => ({})) };
  return {
    remove: [],
    create: [...pendingIndexes(view).take(missing)].map((index) => ({ index })),
  };
}

/** With a limit per index each index has its own back-off. */
function planPerIndex(view: JobView, missing: number): JobPlan {
  const last = lastFailedByIndex(view);
  const create: PodOrder[] = [];
  let retryMs = Infinity;
  for (const index of pendingIndexes(view)) {
    if (create.length >= missing) break;
    const failures = failuresAfter(view, last.get(index));
    const pod = last.get(index);
    const waitMs =
      pod === undefined ? 0 : remainingIndexBackoffMs(pod, failures.counted + failures.ignored, view.nowMs);
    if (waitMs > 0) retryMs = Math.min(retryMs, waitMs);
    else create.push({ index, failures });
  }
  return { remove: [], create, retryMs: retryMs === Infinity ? undefined : retryMs };
}

function failuresAfter(view: JobView, pod: Stored<Pod> | undefined): { counted: number; ignored: number } {
  if (pod === undefined) return { counted: 0, ignored: 0 };
  const { counts } = matchFailurePolicy(view.spec, pod);
  const ignored = indexFailures(pod, INDEX_IGNORED_FAILURES);
  return { counted: indexFailures(pod) + (counts ? 1 : 0), ignored: ignored + (counts ? 0 : 1) };
}

/** Indexes without a pod that have neither succeeded nor failed, lowest first; there may be 2147483647 of them. */
function* pendingIndexes(view: JobView): Generator<number, void, undefined> {
  const waiting = replacesOnlyFailed(view.spec)
    ? view.pods.filter((pod) => pod.metadata.deletionTimestamp !== undefined && pod.status?.phase !== 'Failed')
    : [];
  const taken = [...view.active, ...waiting].map(completionIndex).filter((index) => index !== undefined);
  const passed = view.succeededIndexes.union(view.failedIndexes).with(taken);
  for (const [first, last] of passed.gaps(view.spec.completions ?? 0))
    for (let index = first; index <= last; index++) yield index;
}
