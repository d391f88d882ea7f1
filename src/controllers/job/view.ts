/** A job and its pods, counted. Pure. Upstream: the syncJobCtx of controller/job/job_controller.go. */
import type { Job, JobSpec } from '../../api/gen/batch-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodActive, isPodReady, isPodTerminating } from '../../component-helpers/pods.ts';
import { IndexSet } from './index-set.ts';
import { completionIndex, parseIndexes } from './indexes.ts';
import { matchFailurePolicy } from './policies.ts';

/** Finalizer of pods that the job has not counted yet. */
export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking';
/** Annotation with the number of counted failures of the index before this pod. */
export const INDEX_FAILURES = 'batch.kubernetes.io/job-index-failure-count';
/** Annotation with the number of ignored failures. */
export const INDEX_IGNORED_FAILURES = 'batch.kubernetes.io/job-index-ignored-failure-count';

/** One job at one moment. */
export interface JobView {
  readonly job: Stored<Job>;
  readonly spec: JobSpec;
  readonly pods: readonly Stored<Pod>[];
  readonly active: readonly Stored<Pod>[];
  readonly ready: number;
  readonly terminating: number;
  /** Ended pods that the status does not count yet. */
  readonly newSucceeded: readonly Stored<Pod>[];
  readonly newFailed: readonly Stored<Pod>[];
  /** All successes, in the status or not; for indexed jobs the number of indexes. */
  readonly succeeded: number;
  readonly failed: number;
  /** Succeeded indexes of an indexed job; empty for others. */
  readonly succeededIndexes: IndexSet;
  readonly failedIndexes: IndexSet;
  readonly nowMs: number;
}

/**
 * Counts a job's pods. `settled` has the uids of pods whose finalizer was removed although the cache still shows it.
 */
export function viewJob(
  job: Stored<Job>,
  pods: readonly Stored<Pod>[],
  context: { readonly settled: ReadonlySet<string>; readonly nowMs: number },
): JobView {
  const spec = job.spec as JobSpec;
  const status = job.status ?? {};
  const uncounted = status.uncountedTerminatedPods ?? {};
  const counted = { succeeded: new Set(uncounted.succeeded), failed: new Set(uncounted.failed) };
  const isNew = (pod: Stored<Pod>, previous: ReadonlySet<string>): boolean =>
    isTracked(pod) && !context.settled.has(pod.metadata.uid) && !previous.has(pod.metadata.uid);
  const newSucceeded = pods.filter((pod) => pod.status?.phase === 'Succeeded' && isNew(pod, counted.succeeded));
  const newFailed = pods.filter((pod) => isFailed(job, pod) && isNew(pod, counted.failed));
  const { succeededIndexes, failedIndexes } = isIndexed(spec) ? indexesOf(job, pods) : NO_INDEXES;
  const active = pods.filter(isPodActive);
  return {
    job,
    spec,
    pods,
    active,
    newSucceeded,
    newFailed,
    succeededIndexes,
    failedIndexes,
    nowMs: context.nowMs,
    ready: active.filter(isPodReady).length,
    terminating: pods.filter(isPodTerminating).length,
    succeeded: isIndexed(spec)
      ? succeededIndexes.size
      : (status.succeeded ?? 0) + (uncounted.succeeded?.length ?? 0) + newSucceeded.length,
    failed:
      (status.failed ?? 0) +
      (uncounted.failed?.length ?? 0) +
      newFailed.filter((pod) => matchFailurePolicy(spec, pod).counts).length,
  };
}

type Indexes = Pick<JobView, 'succeededIndexes' | 'failedIndexes'>;

const NO_INDEXES: Indexes = { succeededIndexes: IndexSet.EMPTY, failedIndexes: IndexSet.EMPTY };

/** The completion indexes in the status and those of pods that ended since. */
function indexesOf(job: Stored<Job>, pods: readonly Stored<Pod>[]): Indexes {
  const completions = job.spec?.completions ?? 0;
  const succeeded: number[] = [];
  const failed: number[] = [];
  for (const pod of pods) {
    const index = completionIndex(pod);
    if (index === undefined || index >= completions || !isTracked(pod)) continue;
    if (pod.status?.phase === 'Succeeded') succeeded.push(index);
    else if (isFailed(job, pod) && failsIndex(job, pod)) failed.push(index);
  }
  const succeededIndexes = parseIndexes(job.status?.completedIndexes, completions).with(succeeded);
  const failedIndexes = parseIndexes(job.status?.failedIndexes, completions).with(failed);
  return { succeededIndexes, failedIndexes: failedIndexes.minus(succeededIndexes) };
}

/** Whether the pod has the tracking finalizer. */
export function isTracked(pod: Stored<Pod>): boolean {
  return (pod.metadata.finalizers ?? []).includes(TRACKING_FINALIZER);
}

/** Whether each completion has an index. */
export function isIndexed(spec: JobSpec): boolean {
  return spec.completionMode === 'Indexed';
}

/** Whether terminating pods are replaced only after they have ended. */
export function replacesOnlyFailed(spec: JobSpec): boolean {
  return spec.podReplacementPolicy === 'Failed' || spec.podFailurePolicy !== undefined;
}

/** Failed, or being deleted: a deleted pod may never reach its end. */
export function isFailed(job: Stored<Job>, pod: Stored<Pod>): boolean {
  if (pod.status?.phase === 'Failed') return true;
  if (job.spec !== undefined && replacesOnlyFailed(job.spec)) return false;
  return pod.metadata.deletionTimestamp !== undefined && pod.status?.phase !== 'Succeeded';
}

/** Whether this failure exceeds its index's limit. */
function failsIndex(job: Stored<Job>, pod: Stored<Pod>): boolean {
  const spec = job.spec as JobSpec;
  if (spec.backoffLimitPerIndex === undefined) return false;
  const { action, counts } = matchFailurePolicy(spec, pod);
  return action === 'FailIndex' || (counts && indexFailures(pod) >= spec.backoffLimitPerIndex);
}

/** Failures of the pod's index before this pod, from the annotation. */
export function indexFailures(pod: Stored<Pod>, annotation: string = INDEX_FAILURES): number {
  const text = pod.metadata.annotations?.[annotation];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

/** The latest failed pod of each index that has neither finished nor been retried; it has the index's count. */
export function lastFailedByIndex(view: JobView): ReadonlyMap<number, Stored<Pod>> {
  const last = new Map<number, Stored<Pod>>();
  if (view.spec.backoffLimitPerIndex === undefined) return last;
  const busy = new Set(view.active.map(completionIndex));
  const total = (pod: Stored<Pod>): number => indexFailures(pod) + indexFailures(pod, INDEX_IGNORED_FAILURES);
  for (const pod of view.pods) {
    const index = completionIndex(pod);
    if (index === undefined || index >= (view.spec.completions ?? 0) || !isFailed(view.job, pod)) continue;
    if (busy.has(index) || view.succeededIndexes.has(index) || view.failedIndexes.has(index)) continue;
    const previous = last.get(index);
    if (previous === undefined || total(pod) > total(previous)) last.set(index, pod);
  }
  return last;
}
