/**
 * Counts ended pods exactly once: first their uids are written into the status, then their finalizers are removed,
 * then the uids become numbers. An interrupted round is continued from any of these steps. Pure. Upstream:
 * trackJobStatusAndRemoveFinalizers.
 */
import type { JobStatus } from '../../api/gen/batch-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { completionIndex, formatIndexes, parseIndexes } from './indexes.ts';
import { matchFailurePolicy } from './policies.ts';
import type { Verdict } from './verdict.ts';
import { isFailed, isIndexed, isTracked, lastFailedByIndex, type JobView } from './view.ts';

const MAX_UNCOUNTED = 500;

/** The status to write, and the pods whose finalizer is removed after that. */
export interface Accounting {
  readonly status: JobStatus;
  readonly release: readonly Stored<Pod>[];
  /** More pods have ended than fit into one round. */
  readonly more: boolean;
  /** The failure policy's actions, one for each failed pod that matched a rule. */
  readonly policyActions: readonly string[];
}

/** What a round adds to the status. */
interface Tally {
  readonly succeeded: Set<string>;
  readonly failed: Set<string>;
  readonly newIndexes: number[];
  readonly policyActions: string[];
  added: number;
}

/**
 * Adds ended pods to the status. When the job fails, running pods count as failed; when it succeeds, they are not
 * counted.
 */
export function addUncountedPods(
  view: JobView,
  status: JobStatus,
  context: { readonly verdict: Verdict | undefined; readonly settled: ReadonlySet<string> },
): Accounting {
  const { job } = view;
  const delayed = context.verdict === undefined ? new Set(lastFailedByIndex(view).values()) : new Set<Stored<Pod>>();
  const tally: Tally = {
    succeeded: new Set(status.uncountedTerminatedPods?.succeeded),
    failed: new Set(status.uncountedTerminatedPods?.failed),
    newIndexes: [],
    policyActions: [],
    added: 0,
  };
  const failing = context.verdict?.type === 'FailureTarget';
  const release: Stored<Pod>[] = [];
  let more = false;
  for (const pod of view.pods) {
    if (!isTracked(pod) || context.settled.has(pod.metadata.uid) || delayed.has(pod)) continue;
    const over = isFailed(job, pod) || pod.status?.phase === 'Succeeded';
    if (!over && context.verdict === undefined && job.metadata.deletionTimestamp === undefined) continue;
    if (tally.added >= MAX_UNCOUNTED) {
      more = true;
      break;
    }
    release.push(pod);
    if (over || failing) recordFinishedPod(view, pod, tally);
  }
  return { status: withTally(view, status, tally), release, more, policyActions: tally.policyActions };
}

function recordFinishedPod(view: JobView, pod: Stored<Pod>, tally: Tally): void {
  const { spec } = view;
  const uid = pod.metadata.uid;
  const index = completionIndex(pod);
  const valid = !isIndexed(spec) || (index !== undefined && index < (spec.completions ?? 0));
  if (tally.succeeded.has(uid) || tally.failed.has(uid) || !valid) return;
  if (pod.status?.phase === 'Succeeded') {
    if (isIndexed(spec)) tally.newIndexes.push(index as number);
    else tally.succeeded.add(uid);
    tally.added++;
  } else {
    const { action, counts } = matchFailurePolicy(spec, pod);
    if (action !== undefined) tally.policyActions.push(action);
    if (!counts) return;
    tally.failed.add(uid);
    tally.added++;
  }
}

function withTally({ spec, failedIndexes }: JobView, status: JobStatus, tally: Tally): JobStatus {
  const uncountedTerminatedPods = {
    ...(tally.succeeded.size === 0 ? {} : { succeeded: [...tally.succeeded] }),
    ...(tally.failed.size === 0 ? {} : { failed: [...tally.failed] }),
  };
  if (!isIndexed(spec)) return { ...status, uncountedTerminatedPods };
  const indexes = parseIndexes(status.completedIndexes, spec.completions ?? 0).with(tally.newIndexes);
  return {
    ...status,
    uncountedTerminatedPods,
    succeeded: indexes.size,
    completedIndexes: formatIndexes(indexes),
    ...(spec.backoffLimitPerIndex === undefined ? {} : { failedIndexes: formatIndexes(failedIndexes) }),
  };
}

/** Turns uids in the status whose pods have no finalizer any more into numbers. */
export function countReleased(status: JobStatus, stillTracked: (uid: string) => boolean): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const keep = { succeeded: succeeded.filter(stillTracked), failed: failed.filter(stillTracked) };
  return {
    ...status,
    succeeded: (status.succeeded ?? 0) + succeeded.length - keep.succeeded.length,
    failed: (status.failed ?? 0) + failed.length - keep.failed.length,
    uncountedTerminatedPods: {
      ...(keep.succeeded.length === 0 ? {} : { succeeded: keep.succeeded }),
      ...(keep.failed.length === 0 ? {} : { failed: keep.failed }),
    },
  };
}

/** Whether the status lists no uids any more. */
export function isAllCounted(status: JobStatus): boolean {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  return succeeded.length === 0 && failed.length === 0;
}
