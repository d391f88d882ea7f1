/**
 * Enqueues the jobs that a pod's changes concern, and finds pods whose job is gone. Upstream: the pod handlers of
 * job_controller.go.
 */
import { Jobs } from '../../api/gen/resources.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Informer } from '../../client/informer.ts';
import { keyOfObject } from '../../client/object-store.ts';
import type { Expectations } from '../../component-helpers/expectations.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import { PODS_BY_CONTROLLER, type PodEventDeps, watchPods } from '../pod-events.ts';
import { isTracked } from './view.ts';

export interface JobEventDeps {
  readonly platform: PodEventDeps<Job>['platform'];
  readonly jobs: Informer<Job>;
  readonly pods: Informer<Pod>;
  readonly expectations: Expectations;
  enqueue(key: string): void;
  enqueueOrphan(key: string): void;
  /** The pod's finalizer was removed, or the pod was deleted. */
  released(pod: Stored<Pod>): void;
  /** An ended pod with the finalizer appeared, or one lost it or was deleted. */
  tracked(event: 'add' | 'delete'): void;
}

/** The job a pod is controlled by, when it exists. */
export function jobOf(jobs: Informer<Job>, pod: Stored<Pod>): Job | undefined {
  const owner = controllerOf(pod);
  if (owner?.kind !== Jobs.kind) return undefined;
  const job = jobs.get({ namespace: pod.metadata.namespace, name: owner.name });
  return job?.metadata.uid === owner.uid ? job : undefined;
}

export function watchJobs(deps: JobEventDeps): void {
  const { jobs, pods, expectations, enqueue } = deps;
  const enqueueJob = (job: Job): void => enqueue(keyOfObject(job));
  jobs.addHandler({
    onAdd: enqueueJob,
    onUpdate(old, job) {
      if (old.metadata.uid !== job.metadata.uid) expectations.forget(keyOfObject(old));
      enqueueJob(job);
    },
    onDelete(job) {
      expectations.forget(keyOfObject(job));
      enqueueJob(job); // the sync drops its state
      for (const pod of pods.byIndex(PODS_BY_CONTROLLER, job.metadata.uid)) deps.enqueueOrphan(keyOfObject(pod));
    },
  });
  watchPods({
    platform: deps.platform,
    pods,
    owners: jobs,
    selectorOf: (job) => compileLabelSelector(job.spec?.selector),
    expectations,
    enqueue,
  });
  const check = (pod: Stored<Pod>): void => {
    if (!isTracked(pod)) deps.released(pod);
    else if (jobOf(jobs, pod) === undefined) deps.enqueueOrphan(keyOfObject(pod));
  };
  const record = (old: Stored<Pod> | undefined, now: Stored<Pod> | undefined): void => {
    const [was, is] = [old, now].map((pod) => pod !== undefined && isPodTerminal(pod) && isTracked(pod));
    if (was !== is) deps.tracked(is === true ? 'add' : 'delete');
  };
  pods.addHandler({
    onAdd(pod) {
      record(undefined, pod);
      check(pod);
    },
    onUpdate(old, pod) {
      record(old, pod);
      check(pod);
    },
    onDelete(pod) {
      record(pod, undefined);
      deps.released(pod);
    },
  });
}
