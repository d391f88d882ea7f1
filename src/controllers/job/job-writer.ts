/** All writes of the Job controller. Upstream: deleteJobPods, removeTrackingFinalizersFromPods. */
import { Jobs, Pods } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { Job, JobStatus } from '../../api/gen/batch-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Client } from '../../client/client.ts';
import { keyOfObject } from '../../client/object-store.ts';
import type { Expectations } from '../../component-helpers/expectations.ts';
import type { OwnWrites } from '../own-writes.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import { isNamespaceTerminating } from '../controller.ts';
import { podTurns, slowStartBatch, type PodControl } from '../pod-control.ts';
import { settleInTurns } from '../../base/begin-in-turns.ts';
import type { Clock } from '../../platform/clock.ts';
import { jobPod } from './job-pod.ts';
import type { PodOrder } from './plan.ts';
import { isTracked, TRACKING_FINALIZER } from './view.ts';

export interface BatchResult {
  readonly done: readonly Stored<Pod>[];
  readonly error?: unknown;
}

/** Writes jobs and their pods. */
export interface JobWriter {
  /** Returns the number of created pods. */
  create(
    job: Stored<Job>,
    orders: readonly PodOrder[],
    signal: AbortSignal,
  ): Promise<{ readonly created: number; readonly error?: unknown }>;
  /**
   * Deletes pods; with `uncounted` their finalizer is removed first, so that the deletion does not count as a
   * failure.
   */
  remove(
    job: Stored<Job>,
    batch: { readonly pods: readonly Stored<Pod>[]; readonly uncounted: boolean },
    signal: AbortSignal,
  ): Promise<BatchResult>;
  /** Removes the finalizers; a deleted pod counts as done. */
  release(pods: readonly Stored<Pod>[], signal: AbortSignal): Promise<BatchResult>;
  updateStatus(job: Stored<Job>, status: JobStatus, signal: AbortSignal): Promise<Stored<Job>>;
}

export interface JobWriterDeps {
  readonly clock: Clock;
  readonly client: Client;
  readonly podControl: PodControl;
  readonly expectations: Expectations;
  readonly ownWrites: OwnWrites;
  /** Called before a finalizer is taken off. */
  readonly releasing: (pod: Stored<Pod>) => void;
  /** Called when the removal failed. */
  readonly notReleased: (pod: Stored<Pod>) => void;
}

export function createJobWriter(deps: JobWriterDeps): JobWriter {
  const { client, podControl, expectations, ownWrites } = deps;

  async function releaseOne(pod: Stored<Pod>, signal: AbortSignal): Promise<void> {
    if (!isTracked(pod)) return;
    const { namespace, name, uid } = pod.metadata;
    const patch = { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER] } };
    deps.releasing(pod);
    try {
      await client.resource(Pods).patch({ namespace, name }, { type: 'strategic', patch }, { signal });
    } catch (error) {
      // The pod is gone, or another one has its name.
      if (isReason(error, 'NotFound', 'Conflict', 'Invalid')) return;
      deps.notReleased(pod);
      throw error;
    }
  }

  async function each(pods: readonly Stored<Pod>[], task: (pod: Stored<Pod>) => Promise<void>): Promise<BatchResult> {
    const results = await settleInTurns(pods, task, podTurns(deps.clock));
    const failed = results.find((result) => result.status === 'rejected');
    const done = pods.filter((_, index) => results[index]?.status === 'fulfilled');
    return failed === undefined ? { done } : { done, error: failed.reason };
  }

  return {
    async create(job, orders, signal) {
      const key = keyOfObject(job);
      expectations.expectCreations(key, orders.length);
      const { successes, error } = await slowStartBatch(
        orders.length,
        async (index) => {
          try {
            await podControl.create(job, jobPod(job, orders[index] as PodOrder), signal);
          } catch (failure) {
            // The namespace is terminating, and the job with it: this is no failure.
            if (!isNamespaceTerminating(failure)) throw failure;
          }
        },
        deps.clock,
      );
      for (let missed = orders.length - successes; missed > 0; missed--) expectations.creationObserved(key);
      return error === undefined ? { created: successes } : { created: successes, error };
    },
    async remove(job, { pods, uncounted }, signal) {
      const key = keyOfObject(job);
      expectations.expectDeletions(
        key,
        pods.map((pod) => pod.metadata.uid),
      );
      return await each(pods, async (pod) => {
        try {
          if (uncounted) await releaseOne(pod, signal);
          await podControl.remove(job, pod, signal);
        } catch (error) {
          expectations.deletionObserved(key, pod.metadata.uid);
          if (!isReason(error, 'NotFound')) throw error;
        }
      });
    },
    release: (pods, signal) => each(pods, (pod) => releaseOne(pod, signal)),
    async updateStatus(job, status, signal) {
      if (equalStatus(status, job.status)) return job;
      const written = await client.resource(Jobs).updateStatus({ ...job, status }, { signal });
      ownWrites.note(keyOfObject(job), written);
      return written;
    },
  };
}
