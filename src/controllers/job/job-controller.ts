/**
 * Runs jobs' pods to completion. Upstream: pkg/controller/job.
 *
 * Watches: Jobs and pods. Writes alone: Job status, its pods' creation and deletion, their job-tracking finalizer,
 * owner references to it. Finished jobs and those of another controller (`managedBy`) are left alone. Invariant: a
 * pod's end is counted exactly once, since its finalizer is removed only after its uid is in the status.
 */
import { isJobFinished } from '../../component-helpers/jobs.ts';
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
import { createKeyedLoop, informerList, type Controller, type ControllerDeps, type KeyedLoop } from '../controller.ts';
import { createPodControl } from '../pod-control.ts';
import { orphansOf, PODS_BY_CONTROLLER } from '../pod-events.ts';
import { countReleased, addUncountedPods } from './accounting.ts';
import { createJobMetrics, type CreationReason, type JobAction, type JobMetrics } from './job-metrics.ts';
import { jobOf, watchJobs } from './job-events.ts';
import { finalStatus, interimStatus, type JobEvent, type PodNumbers } from './job-status.ts';
import { createJobWriter, type JobWriter } from './job-writer.ts';
import { planJob } from './plan.ts';
import { deadlineMs, evaluateJob, evaluateCompletion, type Verdict } from './verdict.ts';
import { matchInTurns } from './policies.ts';
import { isFailed, isTracked, TRACKING_FINALIZER, viewJob, type JobView } from './view.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';

const NAME = 'job-controller';
const MANAGER = 'kubernetes.io/job-controller';
const WORKERS = 5;

interface Managed {
  readonly numbers: PodNumbers;
  readonly verdict: Verdict | undefined;
  /** Pods were created or deleted as planned, so the condition Suspended can be set. */
  readonly managed: boolean;
  readonly action: JobAction;
  readonly error?: unknown;
}

export function createJobController(deps: ControllerDeps): Controller {
  return new JobController(deps);
}

/** Upstream: job.Controller. */
class JobController implements Controller {
  readonly name = NAME;
  readonly #platform: ControllerDeps['platform'];
  readonly #clock: Clock;
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #jobs: Informer<Job>;
  readonly #pods: Informer<Pod>;
  readonly #metrics: JobMetrics;
  readonly #expectations: Expectations;
  readonly #ownWrites: OwnWrites;
  // Uids of pods whose finalizer was removed although the cache still shows it.
  readonly #settled: Set<string>;
  readonly #writer: JobWriter;
  readonly #loop: KeyedLoop;
  readonly #orphans: KeyedLoop;

  constructor(deps: ControllerDeps) {
    this.#platform = deps.platform;
    this.#clock = deps.platform.clock;
    this.#client = deps.clientFor(NAME);
    this.#recorder = deps.recorderFor(NAME);
    this.#jobs = deps.informers.informer(Jobs);
    this.#pods = deps.informers.informer(Pods);
    this.#metrics = createJobMetrics(deps.platform.metrics);
    this.#expectations = new Expectations(this.#clock);
    this.#ownWrites = new OwnWrites();
    this.#settled = new Set<string>();
    this.#writer = createJobWriter({
      clock: this.#clock,
      client: this.#client,
      expectations: this.#expectations,
      ownWrites: this.#ownWrites,
      podControl: createPodControl(this.#client, this.#recorder),
      releasing: (pod) => this.#settled.add(pod.metadata.uid),
      notReleased: (pod) => this.#settled.delete(pod.metadata.uid),
    });
    this.#loop = createKeyedLoop(deps, {
      name: NAME,
      queueName: 'job',
      workers: WORKERS,
      informers: informerList(this.#jobs, this.#pods),
      sync: (key, signal) => this.#syncJob(key, signal),
    });
    this.#orphans = createKeyedLoop(deps, {
      name: NAME,
      queueName: 'job_orphan_pod',
      workers: 1,
      informers: informerList(this.#jobs, this.#pods),
      sync: (key, signal) => this.#syncOrphan(key, signal),
    });
    this.#addHandlers();
  }

  async #podsForJob(job: Stored<Job>, signal: AbortSignal): Promise<Stored<Pod>[]> {
    const selector = compileLabelSelector(job.spec?.selector);
    const { uid, namespace } = job.metadata;
    const candidates = [
      ...this.#pods.byIndex(PODS_BY_CONTROLLER, uid),
      ...this.#pods.byIndex(PODS_BY_CONTROLLER, orphansOf(namespace)),
    ];
    return await claimObjects(
      {
        client: this.#client,
        owner: job,
        ownerInfo: Jobs,
        selector,
        adoptFinalizers: [TRACKING_FINALIZER],
        signal,
        pause: () => this.#clock.yield(),
      },
      { info: Pods, objects: candidates },
    );
  }

  async #syncJob(key: string, signal: AbortSignal): Promise<void> {
    const job = this.#jobs.get(parseKey(key));
    if (job === undefined) {
      this.#ownWrites.forget(key);
      return this.#expectations.forget(key);
    }
    if (this.#ownWrites.isBehind(key, job)) return this.#metrics.skippedAsStale();
    if ((job.spec?.managedBy ?? MANAGER) !== MANAGER || isJobFinished(job)) return;
    const startedMs = this.#clock.monotonicMs();
    let action: JobAction = 'reconciling';
    let failed = true;
    try {
      const mayAct = this.#expectations.satisfied(key);
      const pods = await this.#podsForJob(job, signal);
      const ended = pods.filter((pod) => isFailed(job, pod));
      if (job.spec !== undefined) await matchInTurns(job.spec, ended, () => this.#clock.yield());
      const view = viewJob(job, pods, {
        settled: this.#settled,
        nowMs: this.#clock.nowMs(),
      });
      const managed = await this.#manageJob(view, mayAct, signal);
      ({ action } = managed);
      await this.#trackJobStatusAndRemoveFinalizers(view, managed, signal);
      const untilDeadlineMs = deadlineMs(view);
      if (untilDeadlineMs !== undefined && untilDeadlineMs > 0) this.#loop.queue.addAfter(key, untilDeadlineMs);
      if (managed.error !== undefined) throw managed.error;
      failed = false;
    } finally {
      this.#metrics.synced(job, { action, failed, seconds: (this.#clock.monotonicMs() - startedMs) / 1000 });
    }
  }

  async #manageJob(view: JobView, mayAct: boolean, signal: AbortSignal): Promise<Managed> {
    const verdict = evaluateJob(view);
    const numbers: PodNumbers = { active: view.active.length, ready: view.ready, terminating: view.terminating };
    if (verdict !== undefined) {
      const { done, error } = await this.#writer.remove(view.job, { pods: view.active, uncounted: false }, signal);
      return { numbers: withoutDeleted(numbers, done), verdict, managed: false, action: 'pods_deleted', error };
    }
    let after = numbers;
    let error: unknown;
    let action: JobAction = 'reconciling';
    const acts = mayAct && view.job.metadata.deletionTimestamp === undefined;
    if (acts) ({ numbers: after, error, action } = await this.#carryOut(view, numbers, signal));
    const completion = error === undefined ? evaluateCompletion(view, after.active) : undefined;
    return { numbers: after, verdict: completion, managed: acts && completion === undefined, action, error };
  }

  async #carryOut(
    view: JobView,
    numbers: PodNumbers,
    signal: AbortSignal,
  ): Promise<{ numbers: PodNumbers; action: JobAction; error?: unknown }> {
    const plan = planJob(view);
    if (plan.retryMs !== undefined) this.#loop.queue.addAfter(keyOfObject(view.job), plan.retryMs);
    if (plan.remove.length > 0) {
      const { done, error } = await this.#writer.remove(view.job, { pods: plan.remove, uncounted: true }, signal);
      return { numbers: withoutDeleted(numbers, done), action: 'pods_deleted', error };
    }
    if (plan.create.length === 0) return { numbers, action: 'reconciling' };
    const { created, error } = await this.#writer.create(view.job, plan.create, signal);
    this.#metrics.podsCreated(creationReason(view), created, plan.create.length - created);
    return { numbers: { ...numbers, active: numbers.active + created }, action: 'pods_created', error };
  }

  /**
   * Writes ended pods into the status, removes their finalizers, counts them, and finishes the job when nothing is
   * left.
   */
  async #trackJobStatusAndRemoveFinalizers(
    view: JobView,
    { numbers, verdict, managed }: Managed,
    signal: AbortSignal,
  ): Promise<void> {
    const { nowMs } = view;
    const interim = interimStatus(view.job, { numbers, verdict, managed, nowMs });
    const noted = addUncountedPods(view, interim.status, { verdict, settled: this.#settled });
    let job = await this.#writer.updateStatus(view.job, noted.status, signal);
    this.#metrics.counted(job, view.job.status, noted.status);
    this.#metrics.handledByPolicy(noted.policyActions);
    this.#recordJobEvents(job, interim.events);
    const { error } = await this.#writer.release(noted.release, signal);
    const tracked = new Set(
      view.pods.filter((pod) => isTracked(pod) && !this.#settled.has(pod.metadata.uid)).map((pod) => pod.metadata.uid),
    );
    const counted = countReleased(noted.status, (uid) => tracked.has(uid));
    const over =
      noted.more || error !== undefined ? { status: counted, events: [] } : finalStatus(counted, verdict, nowMs);
    job = await this.#writer.updateStatus(job, over.status, signal);
    this.#metrics.counted(job, noted.status, over.status);
    this.#recordJobEvents(job, over.events);
    if (over.events.length > 0 && verdict !== undefined) this.#recordJobFinished(job, verdict);
    if (error !== undefined) throw error;
    if (noted.more) this.#loop.queue.add(keyOfObject(job));
  }

  #recordJobFinished(job: Stored<Job>, { type, reason }: Verdict): void {
    this.#metrics.finished(job, type === 'SuccessCriteriaMet' ? 'succeeded' : 'failed', reason);
  }

  #recordJobEvents(job: Stored<Job>, events: readonly JobEvent[]): void {
    for (const { type, reason, message } of events) this.#recorder.event(job, type, reason, message);
  }

  async #syncOrphan(key: string, signal: AbortSignal): Promise<void> {
    const pod = this.#pods.get(parseKey(key));
    if (pod === undefined || !isTracked(pod)) return;
    if (jobOf(this.#jobs, pod) !== undefined) return;
    // The cache of jobs may be behind that of pods.
    const owner = pod.metadata.ownerReferences?.find(
      (reference) => reference.controller === true && reference.kind === Jobs.kind,
    );
    if (owner !== undefined) {
      const live = await this.#client
        .resource(Jobs)
        .get({ namespace: pod.metadata.namespace, name: owner.name }, { signal })
        .catch(ignoreNotFound);
      if (live?.metadata.uid === owner.uid) return;
    }
    const { error } = await this.#writer.release([pod], signal);
    if (error !== undefined) throw error;
  }

  async start(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#loop.start(signal), this.#orphans.start(signal)]);
  }

  #addHandlers(): void {
    this.#jobs.addHandler({
      onAdd: ({ spec }) => {
        const manager = spec?.managedBy ?? MANAGER;
        if (manager !== MANAGER) this.#metrics.managedElsewhere(manager);
      },
    });
    watchJobs({
      platform: this.#platform,
      jobs: this.#jobs,
      pods: this.#pods,
      expectations: this.#expectations,
      enqueue: (key) => this.#loop.queue.add(key),
      enqueueOrphan: (key) => this.#orphans.queue.add(key),
      released: (pod) => this.#settled.delete(pod.metadata.uid),
      tracked: this.#metrics.tracked,
    });
  }
}

function withoutDeleted(numbers: PodNumbers, gone: readonly Stored<Pod>[]): PodNumbers {
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
