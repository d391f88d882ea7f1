/**
 * Runs jobs' pods to completion. Upstream: pkg/controller/job.
 *
 * Watches: Jobs and pods. Writes alone: Job status, its pods' creation and deletion, their job-tracking finalizer, owner
 * references to it. Leaves alone jobs that another controller manages (`managedBy`) and jobs that are over. Invariant: a
 * pod's end is counted exactly once, since its finalizer goes only after its uid stands in the status.
 */
import { Jobs, Pods } from '../../api/gen/resources.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { Expectations } from '../../component-helpers/expectations.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import { OwnWrites } from '../own-writes.ts';
import { claimObjects } from '../controller-ref-manager.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { createPodControl } from '../pod-control.ts';
import { orphansOf, PODS_BY_CONTROLLER } from '../pod-events.ts';
import { countReleased, noteEnded } from './accounting.ts';
import { createJobMetrics, type CreationReason, type JobAction } from './job-metrics.ts';
import { jobOf, watchJobs } from './job-events.ts';
import { finalStatus, interimStatus, type JobNews, type PodNumbers } from './job-status.ts';
import { createJobWriter } from './job-writer.ts';
import { planJob } from './plan.ts';
import { deadlineMs, isFinished, judge, judgeCompletion, type Verdict } from './verdict.ts';
import { isTracked, TRACKING_FINALIZER, viewJob, type JobView } from './view.ts';

const NAME = 'job-controller';
const MANAGER = 'kubernetes.io/job-controller';
const WORKERS = 5;

interface Managed {
  readonly numbers: PodNumbers;
  readonly verdict: Verdict | undefined;
  /** Pods were made or deleted as the plan says: suspension can be told. */
  readonly managed: boolean;
  readonly action: JobAction;
  readonly error?: unknown;
}

export function createJobController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(NAME);
  const recorder = deps.recorderFor(NAME);
  const jobs = deps.informers.informer(Jobs);
  const pods = deps.informers.informer(Pods);
  const metrics = createJobMetrics(deps.platform.metrics);
  const expectations = new Expectations(clock);
  const ownWrites = new OwnWrites();
  // Pods whose finalizer is off though the cache still shows it.
  const settled = new Set<string>();
  const writer = createJobWriter({
    client,
    expectations,
    ownWrites,
    podControl: createPodControl(client, recorder),
    releasing: (pod) => settled.add(pod.metadata.uid),
    notReleased: (pod) => settled.delete(pod.metadata.uid),
  });

  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'job',
    workers: WORKERS,
    informers: informerList(jobs, pods),
    sync: syncJob,
  });
  const orphans = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'job_orphan_pod',
    workers: 1,
    informers: informerList(jobs, pods),
    sync: syncOrphan,
  });

  async function podsForJob(job: Stored<Job>, signal: AbortSignal): Promise<Stored<Pod>[]> {
    const selector = compileLabelSelector(job.spec?.selector);
    const { uid, namespace } = job.metadata;
    const candidates = [
      ...pods.byIndex(PODS_BY_CONTROLLER, uid),
      ...pods.byIndex(PODS_BY_CONTROLLER, orphansOf(namespace)),
    ];
    return await claimObjects(
      { client, owner: job, ownerInfo: Jobs, selector, adoptFinalizers: [TRACKING_FINALIZER], signal },
      { info: Pods, objects: candidates },
    );
  }

  async function syncJob(key: string, signal: AbortSignal): Promise<void> {
    const job = jobs.get(parseKey(key));
    if (job === undefined) {
      ownWrites.forget(key);
      return expectations.forget(key);
    }
    if (ownWrites.isBehind(key, job)) return metrics.skippedAsStale();
    if ((job.spec?.managedBy ?? MANAGER) !== MANAGER || isFinished(job)) return;
    const startedMs = clock.monotonicMs();
    let action: JobAction = 'reconciling';
    let failed = true;
    try {
      const mayAct = expectations.satisfied(key);
      const view = viewJob(job, await podsForJob(job, signal), { settled, nowMs: clock.nowMs() });
      const managed = await manageJob(view, mayAct, signal);
      ({ action } = managed);
      await trackJobStatusAndRemoveFinalizers(view, managed, signal);
      const untilDeadlineMs = deadlineMs(view);
      if (untilDeadlineMs !== undefined && untilDeadlineMs > 0) loop.queue.addAfter(key, untilDeadlineMs);
      if (managed.error !== undefined) throw managed.error;
      failed = false;
    } finally {
      metrics.synced(job, { action, failed, seconds: (clock.monotonicMs() - startedMs) / 1000 });
    }
  }

  async function manageJob(view: JobView, mayAct: boolean, signal: AbortSignal): Promise<Managed> {
    const verdict = judge(view);
    const numbers: PodNumbers = { active: view.active.length, ready: view.ready, terminating: view.terminating };
    if (verdict !== undefined) {
      const { done, error } = await writer.remove(view.job, { pods: view.active, uncounted: false }, signal);
      return { numbers: without(numbers, done), verdict, managed: false, action: 'pods_deleted', error };
    }
    let after = numbers;
    let error: unknown;
    let action: JobAction = 'reconciling';
    const acts = mayAct && view.job.metadata.deletionTimestamp === undefined;
    if (acts) ({ numbers: after, error, action } = await carryOut(view, numbers, signal));
    const completion = error === undefined ? judgeCompletion(view, after.active) : undefined;
    return { numbers: after, verdict: completion, managed: acts && completion === undefined, action, error };
  }

  async function carryOut(
    view: JobView,
    numbers: PodNumbers,
    signal: AbortSignal,
  ): Promise<{ numbers: PodNumbers; action: JobAction; error?: unknown }> {
    const plan = planJob(view);
    if (plan.retryMs !== undefined) loop.queue.addAfter(keyOfObject(view.job), plan.retryMs);
    if (plan.remove.length > 0) {
      const { done, error } = await writer.remove(view.job, { pods: plan.remove, uncounted: true }, signal);
      return { numbers: without(numbers, done), action: 'pods_deleted', error };
    }
    if (plan.create.length === 0) return { numbers, action: 'reconciling' };
    const { created, error } = await writer.create(view.job, plan.create, signal);
    metrics.podsCreated(creationReason(view), created, plan.create.length - created);
    return { numbers: { ...numbers, active: numbers.active + created }, action: 'pods_created', error };
  }

  /** Notes what ended, lets the pods go, counts them, and declares the job over when nothing is left. */
  async function trackJobStatusAndRemoveFinalizers(
    view: JobView,
    { numbers, verdict, managed }: Managed,
    signal: AbortSignal,
  ): Promise<void> {
    const { nowMs } = view;
    const interim = interimStatus(view.job, { numbers, verdict, managed, nowMs });
    const noted = noteEnded(view, interim.status, { verdict, settled });
    let job = await writer.updateStatus(view.job, noted.status, signal);
    metrics.counted(job, view.job.status, noted.status);
    metrics.handledByPolicy(noted.policyActions);
    recordJobEvents(job, interim.news);
    const { error } = await writer.release(noted.release, signal);
    const tracked = new Set(
      view.pods.filter((pod) => isTracked(pod) && !settled.has(pod.metadata.uid)).map((pod) => pod.metadata.uid),
    );
    const counted = countReleased(noted.status, (uid) => tracked.has(uid));
    const over =
      noted.more || error !== undefined ? { status: counted, news: [] } : finalStatus(counted, verdict, nowMs);
    job = await writer.updateStatus(job, over.status, signal);
    metrics.counted(job, noted.status, over.status);
    recordJobEvents(job, over.news);
    if (over.news.length > 0 && verdict !== undefined) recordJobFinished(job, verdict);
    if (error !== undefined) throw error;
    if (noted.more) loop.queue.add(keyOfObject(job));
  }

  function recordJobFinished(job: Stored<Job>, { type, reason }: Verdict): void {
    metrics.finished(job, type === 'SuccessCriteriaMet' ? 'succeeded' : 'failed', reason);
  }

  function recordJobEvents(job: Stored<Job>, news: readonly JobNews[]): void {
    for (const { type, reason, message } of news) recorder.event(job, type, reason, message);
  }

  async function syncOrphan(key: string, signal: AbortSignal): Promise<void> {
    const pod = pods.get(parseKey(key));
    if (pod === undefined || !isTracked(pod)) return;
    if (jobOf(jobs, pod) !== undefined) return;
    // The cache of jobs may be behind that of pods.
    const owner = pod.metadata.ownerReferences?.find(
      (reference) => reference.controller === true && reference.kind === Jobs.kind,
    );
    if (owner !== undefined) {
      const live = await client
        .resource(Jobs)
        .get({ namespace: pod.metadata.namespace, name: owner.name }, { signal })
        .catch(ignoreNotFound);
      if (live?.metadata.uid === owner.uid) return;
    }
    const { error } = await writer.release([pod], signal);
    if (error !== undefined) throw error;
  }

  jobs.addHandler({
    onAdd({ spec }) {
      const manager = spec?.managedBy ?? MANAGER;
      if (manager !== MANAGER) metrics.managedElsewhere(manager);
    },
  });
  watchJobs({
    jobs,
    pods,
    expectations,
    enqueue: (key) => loop.queue.add(key),
    enqueueOrphan: (key) => orphans.queue.add(key),
    released: (pod) => settled.delete(pod.metadata.uid),
    tracked: metrics.tracked,
  });
  return {
    name: NAME,
    async start(signal) {
      await Promise.all([loop.start(signal), orphans.start(signal)]);
    },
  };
}

function without(numbers: PodNumbers, gone: readonly Stored<Pod>[]): PodNumbers {
  const ready = gone.filter(isPodReady).length;
  return {
    active: numbers.active - gone.length,
    ready: numbers.ready - ready,
    terminating: numbers.terminating + gone.length,
  };
}

function creationReason({ spec, failed, terminating }: JobView): CreationReason {
  if (spec.podReplacementPolicy === 'Failed' && failed > 0) return 'recreate_failed';
  return failed > 0 || terminating > 0 ? 'recreate_terminating_or_failed' : 'new';
}
