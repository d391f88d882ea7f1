/**
 * The scheduler: takes pods from the queue one by one, finds each a node, counts it there at once and binds it behind, so
 * that the next pod does not wait for the API. Upstream: pkg/scheduler (scheduler.go, schedule_one.go).
 *
 * Exclusive writes: pods/binding, the PodScheduled condition and nominatedNodeName of unbound pods.
 */
import { onAbort } from '../base/abort.ts';
import type { Node, Pod } from '../api/gen/core-v1.ts';
import { Nodes, Pods } from '../api/gen/resources.ts';
import { isReason } from '../api/status-error.ts';
import type { Stored } from '../api/object.ts';
import type { Client } from '../client/client.ts';
import type { SeriesEventRecorder } from '../client/event-series-recorder.ts';
import type { InformerFactory, Informer } from '../client/informer.ts';
import type { ExplainPod } from '../component-helpers/pod-why.ts';
import type { BasePlatform } from '../platform/platform.ts';
import { bind, reserve, unreserve, type BindingInput } from './binding-cycle.ts';
import { followClusterObjects, type FollowedObjects } from './cluster-objects.ts';
import { createSchedulerCache } from './cache/scheduler-cache.ts';
import type { SchedulerConfig } from './config/scheduler-config.ts';
import { followCluster } from './follow-cluster.ts';
import { extendersInPreemption, filterByExtenders, scoreByExtenders } from './extenders/ask-extenders.ts';
import type { Extender } from './extenders/extender.ts';
import type { Diagnosis } from './fit-error.ts';
import { createNominator } from './framework/nominations.ts';
import type { CycleState, PostFilterResult, QueuedPod, SchedulerPlugin } from './framework/plugin.ts';
import { makesRoom, runPostFilters } from './framework/run-post-filters.ts';
import type { Status } from './framework/status.ts';
import { createWaitingPods, type WaitingPods } from './framework/waiting-pods.ts';
import { createProfiles, leavingToExtenders, schedulerNameOf, type NamedProfile } from './profiles.ts';
import { createProfilesQueue } from './profiles-queue.ts';
import { findNodes, pickNode, schedulePod, type ScheduleInput, type ScheduleResult } from './schedule-pod.ts';
import { knownPlugins, type PluginEntry } from './plugins/list.ts';
import { createSchedulerTimers, type SchedulerTimers } from './scheduler-timers.ts';
import { createSchedulerMetrics, type SchedulerMetrics } from './scheduler-metrics.ts';
import { NO_NOMINATION, SchedulingFailures, type Cycle, type Rejection } from './scheduling-failures.ts';
import { exposeSchedulerSizes } from './scheduler-sizes.ts';
import { reportNomination } from './report-unschedulable.ts';
import { createDecisionLog } from './why/decision-log.ts';
import { explainPod } from './why/explain-pod.ts';
import { SchedulingSteps } from './why/scheduling-steps.ts';
import { background } from '../platform/unexpected.ts';
import type { Log } from '../platform/log.ts';
import type { Random } from '../platform/random.ts';
import type { Clock } from '../platform/clock.ts';
import type { SchedulingQueue } from './queue/scheduling-queue.ts';

/** What the scheduler works with. */
export interface SchedulerDeps {
  readonly client: Client;
  readonly informers: InformerFactory;
  readonly recorderFor: (component: string) => SeriesEventRecorder;
  readonly platform: BasePlatform;
  /** In the order of the configuration. */
  readonly extenders?: readonly Extender[];
  /** What profiles may name; those of the list by default. */
  readonly plugins?: readonly PluginEntry[];
}

/** The running scheduler. */
export interface Scheduler {
  /** Follows the cluster and schedules until the signal aborts. Resolves once its informers have synced. */
  start(signal: AbortSignal): Promise<void>;
  /** Pods in the queue's parts, for metrics and tests. */
  counts(): {
    readonly active: number;
    readonly backoff: number;
    readonly unschedulable: number;
    readonly gated: number;
  };
  /** Why a pod is where it is. Looks at all nodes: not for hot paths. */
  readonly why: ExplainPod;
  /** The steps of a pod's scheduling, while they are remembered. */
  readonly steps: Pick<SchedulingSteps, 'stepsOf'>;
}

interface RunningCycle extends Cycle {
  readonly state: CycleState;
  readonly signal: AbortSignal;
}

const NOT_HELPED: Status = { code: 'unschedulable', reasons: [], plugin: '' };

/** Pods are scheduled for this long before other work gets a turn. */
const SLICE_MS = 4;

/** Creates the scheduler; nothing runs before `start`. */
export function createScheduler(deps: SchedulerDeps, config: SchedulerConfig): Scheduler {
  return new PodScheduler(deps, config);
}

/** Upstream: scheduler.Scheduler. */
class PodScheduler implements Scheduler {
  readonly #config: SchedulerConfig;
  readonly #platform: BasePlatform;
  readonly #informers: InformerFactory;
  readonly #client: Client;
  readonly #extenders: readonly Extender[];
  readonly #log: Log;
  readonly #random: Random;
  readonly #clock: Clock;
  readonly #objects: FollowedObjects;
  readonly #cache = createSchedulerCache();
  readonly #waitingPods: WaitingPods;
  readonly #metrics: SchedulerMetrics;
  readonly #timers: SchedulerTimers;
  readonly #profiles: ReadonlyMap<string, NamedProfile>;
  readonly #nominations = createNominator();
  readonly #decisions = createDecisionLog();
  readonly #queue: SchedulingQueue;
  readonly #failures: SchedulingFailures;
  readonly #cursor = { startAt: 0 };
  readonly #pods: Informer<Pod>;
  #running = false;

  readonly steps: SchedulingSteps;
  readonly why: ExplainPod = (namespace, name) => {
    const pod = this.#pods.get({ namespace, name });
    if (pod === undefined) return undefined;
    const explainDeps = {
      profileOf: (schedulerName: string) => this.#profiles.get(schedulerName),
      cache: this.#cache,
      queue: this.#queue,
      decisions: this.#decisions,
      nominations: this.#nominations,
      nowMs: () => this.#clock.nowMs(),
    };
    return explainPod(explainDeps, pod);
  };

  constructor(deps: SchedulerDeps, config: SchedulerConfig) {
    this.#config = config;
    const { platform, plugins = knownPlugins } = deps;
    this.#platform = platform;
    this.#informers = deps.informers;
    this.#client = deps.client;
    this.#extenders = deps.extenders ?? [];
    this.#log = platform.log.child('scheduler');
    this.#random = platform.random.fork('scheduler');
    this.#clock = this.#platform.clock;
    this.steps = new SchedulingSteps(this.#clock);
    this.#objects = followClusterObjects({
      client: this.#client,
      informers: this.#informers,
      clock: this.#clock,
      log: this.#log,
    });
    this.#waitingPods = createWaitingPods(this.#clock);
    this.#metrics = createSchedulerMetrics(this.#platform.metrics);
    this.#timers = createSchedulerTimers(this.#clock, this.#random.fork('plugin-metrics'), this.#metrics);
    this.#profiles = createProfiles(
      {
        ...this.#objects,
        client: this.#client,
        clock: this.#clock,
        random: this.#random,
        waitingPods: this.#waitingPods,
        known: plugins,
        deviceMetrics: this.#metrics,
        recorderFor: deps.recorderFor,
        timerFor: this.#timers.forProfile,
      },
      leavingToExtenders(config),
    );
    this.#queue = createProfilesQueue(
      {
        clock: this.#clock,
        profiles: [...this.#profiles.values()],
        profileOf: (pod) => this.#profileOf(pod),
        hintFailed: (plugin, err) => this.#log.error('queueing hint failed', { plugin, err }),
        incoming: this.#metrics.incoming,
      },
      config,
    );
    this.#pods = this.#informers.informer<Pod>(Pods);
    this.#failures = new SchedulingFailures({
      client: this.#client,
      clock: this.#clock,
      log: this.#log,
      queue: this.#queue,
      nominations: this.#nominations,
      decisions: this.#decisions,
      metrics: this.#metrics,
      steps: this.steps,
      profileOf: (pod) => this.#profileOf(pod),
      cachedPod: (pod) => this.#cachedPod(pod),
    });
  }

  #profileOf(pod: Stored<Pod>): NamedProfile {
    const profile = this.#profiles.get(schedulerNameOf(pod));
    if (profile === undefined) throw new Error(`no profile for scheduler ${schedulerNameOf(pod)}`);
    return profile;
  }

  /** The informer's copy of the pod, whose status is newer than the queue's. Undefined once the pod is gone. */
  #cachedPod({ metadata: { namespace, name, uid } }: Stored<Pod>): Stored<Pod> | undefined {
    const seen = this.#pods.get({ namespace, name });
    return seen?.metadata.uid === uid ? seen : undefined;
  }

  /** Synchronous for most pods; with extenders it waits for their answers. */
  #scheduleOne(queued: QueuedPod, signal: AbortSignal): void | Promise<void> {
    const { pod } = queued;
    const uid = pod.metadata.uid;
    if (pod.metadata.deletionTimestamp !== undefined || this.#cache.isAssumed(uid)) return this.#queue.done(uid);
    const profile = this.#profileOf(pod);
    const state = this.#timers.newState();
    const startedMs = this.#clock.monotonicMs();
    const input = {
      profile,
      pod,
      snapshot: this.#cache.snapshot(),
      random: this.#random,
      cursor: this.#cursor,
      nominations: this.#nominations,
    };
    const handleResult = (result: ScheduleResult): void | Promise<void> => {
      this.#metrics.algorithmSeconds((this.#clock.monotonicMs() - startedMs) / 1000);
      return this.#finishSchedulingCycle({ queued, state, signal, startedMs }, result);
    };
    if (!this.#extenders.some((extender) => extender.isInterested(pod))) return handleResult(schedulePod(input, state));
    return this.#askExtenders(input, state, signal).then(handleResult, (error: unknown) =>
      this.#failures.handleSchedulingError({ queued, startedMs }, error),
    );
  }

  async #askExtenders(input: ScheduleInput, state: CycleState, signal: AbortSignal): Promise<ScheduleResult> {
    const { pod } = input;
    const found = findNodes(input, state);
    const left = await filterByExtenders({
      extenders: this.#extenders,
      pod,
      nodes: found.feasible,
      signal,
      log: this.#log,
    });
    const more = await scoreByExtenders({
      extenders: this.#extenders,
      pod,
      nodes: left.feasible,
      signal,
      log: this.#log,
    });
    const statuses = new Map([...found.statuses, ...left.statuses]);
    return pickNode(input, state, { found: { ...found, feasible: left.feasible, statuses }, more });
  }

  #finishSchedulingCycle(cycle: RunningCycle, result: ScheduleResult): void | Promise<void> {
    const { queued, state, signal } = cycle;
    const { pod } = queued;
    const profile = this.#profileOf(pod);
    if (result.node === undefined) {
      const rejection = this.#runPostFilter(cycle, result);
      if (!(rejection instanceof Promise)) return this.#failures.handleSchedulingFailure(cycle, rejection, signal);
      return rejection.then((later) => this.#failures.handleSchedulingFailure(cycle, later, signal));
    }
    this.#recordDecision(pod, result);
    const { node: nodeName } = result;
    this.#cache.assume(pod, nodeName);
    // The pod is assumed on the node now and no longer only nominated.
    this.#nominations.delete(pod.metadata.uid);
    const binder = this.#extenders.find(({ config, isInterested }) => config.bindVerb !== '' && isInterested(pod));
    let isNominated = false;
    const input: BindingInput = {
      profile,
      state,
      pod,
      nodeName,
      signal,
      waitingPods: this.#waitingPods,
      steps: this.steps.chosen(cycle, nodeName),
      ...(binder === undefined ? {} : { binder }),
      nominate: async () => {
        try {
          isNominated = await reportNomination(this.#client, this.#cachedPod(pod) ?? pod, nodeName);
        } catch (error) {
          this.#log.warn('cannot write which node the pod is for', { err: error });
        }
      },
    };
    const failBinding = (status: Status): void => this.#handleBindingCycleError(cycle, input, { status, isNominated });
    const reserveStatus = reserve(input);
    if (reserveStatus !== undefined) return failBinding(reserveStatus);
    void bind(input).then(
      (status) => (status === undefined ? this.#handleBindingSuccess(cycle, nodeName) : failBinding(status)),
      (error: unknown) => failBinding({ code: 'error', plugin: '', reasons: [String(error)], cause: error }),
    );
  }

  #recordDecision(pod: Stored<Pod>, result: ScheduleResult & { node: string }): void {
    const { node, scored, statuses, filters } = result;
    this.#decisions.add({
      uid: pod.metadata.uid,
      atMs: this.#clock.nowMs(),
      nodeName: node,
      message: '',
      nodeCount: this.#cache.nodeCount(),
      statuses,
      filters,
      scored,
    });
  }

  #handleBindingSuccess(cycle: Cycle, nodeName: string): void {
    const { attempts, queuedAtMs, pod } = cycle.queued;
    this.#queue.done(pod.metadata.uid);
    this.#nominations.delete(pod.metadata.uid);
    this.#decisions.leaves(pod.metadata.uid);
    this.#failures.recordAttempt(cycle, 'scheduled');
    this.#metrics.scheduled(attempts, (this.#clock.monotonicMs() - queuedAtMs) / 1000);
    const note = `Successfully assigned ${pod.metadata.namespace}/${pod.metadata.name} to ${nodeName}`;
    this.#profileOf(pod).recorder.eventf({
      regarding: pod,
      type: 'Normal',
      reason: 'Scheduled',
      action: 'Binding',
      note,
    });
  }

  /** `isNominated`: nominatedNodeName was written, so that node is tried first; otherwise any earlier nomination is cleared. */
  #handleBindingCycleError(
    cycle: Cycle,
    input: BindingInput,
    { status, isNominated }: { status: Status; isNominated: boolean },
  ): void {
    const { queued } = cycle;
    const uid = queued.pod.metadata.uid;
    unreserve(input);
    this.#cache.forget(uid);
    const now = this.#cachedPod(queued.pod);
    if (!isNominated) this.#nominations.set(queued.pod, '');
    else if (now !== undefined) this.#nominations.follow(now);
    // Its resources on the node are free again for others.
    const spec = { ...queued.pod.spec, nodeName: input.nodeName };
    this.#queue.notify('assigned-pod/delete', { ...queued.pod, spec }, undefined);
    if (isReason(status.cause, 'NotFound')) return this.#queue.done(uid);
    const isError = status.code === 'error';
    this.steps.bindingFailed(uid, status.reasons.join(', '));
    this.#failures.recordAttempt(cycle, isError ? 'error' : 'unschedulable');
    const { metadata } = queued.pod;
    const message = status.reasons.join(', ');
    this.#log.warn('binding failed; the pod is tried again', {
      pod: `${metadata.namespace}/${metadata.name}`,
      node: input.nodeName,
      err: status.cause ?? message,
    });
    if (this.#queue.place(uid) === undefined) return; // Deleted meanwhile.
    // The queue gets the newest copy: the pod may have changed during its binding.
    this.#queue.addUnschedulableIfNotPresent(
      { ...queued, pod: now ?? queued.pod },
      isError ? new Set() : new Set([status.plugin]),
    );
    const reason = isError ? 'SchedulerError' : 'Unschedulable';
    this.#failures.reportFailure(queued.pod, { message, reason, ...(isNominated ? {} : NO_NOMINATION) });
  }

  /** Runs the PostFilter plugins (preemption); `handleSchedulingFailure` carries out their result. */
  #runPostFilter(
    { queued: { pod }, state, signal }: RunningCycle,
    { diagnosis, filters }: { diagnosis: Diagnosis; filters: readonly SchedulerPlugin[] },
  ): Rejection | Promise<Rejection> {
    const { timer, points } = this.#profileOf(pod);
    const startedMs = timer?.started() ?? 0;
    const { statuses, nodeCount } = diagnosis;
    const snapshot = this.#cache.snapshot();
    const extended = extendersInPreemption({ extenders: this.#extenders, pod, snapshot, signal, log: this.#log });
    const input = { snapshot, statuses, filters, nominations: this.#nominations, ...extended };
    const finishPostFilter = (postFilter: PostFilterResult): Rejection => {
      timer?.ended('PostFilter', startedMs, makesRoom(postFilter) ? undefined : NOT_HELPED);
      this.#metrics.preemptionAttempt();
      if (postFilter.victims !== undefined) this.#metrics.victims(postFilter.victims);
      return {
        diagnosis: postFilter.message === undefined ? diagnosis : { ...diagnosis, postFilter: postFilter.message },
        postFilter,
      };
    };
    const result = nodeCount === 0 ? NO_NOMINATION : runPostFilters(points.postFilter, { state, pod, input });
    return result instanceof Promise ? result.then(finishPostFilter) : finishPostFilter(result);
  }

  /** Schedules pods until the queue is empty, yielding every few milliseconds. */
  async #runSchedulingLoop(signal: AbortSignal): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    let sliceStartMs = this.#clock.monotonicMs();
    try {
      while (!signal.aborted) {
        const queued = this.#queue.pop();
        if (queued === undefined) break;
        const startedMs = this.#clock.monotonicMs();
        try {
          const pending = this.#scheduleOne(queued, signal);
          if (pending !== undefined) await pending;
        } catch (error) {
          // A plugin threw: this pod is tried again after its back-off, the others go on.
          this.#cache.forget(queued.pod.metadata.uid);
          this.#failures.handleSchedulingError({ queued, startedMs }, error);
        }
        if (this.#clock.monotonicMs() - sliceStartMs < SLICE_MS) continue;
        await this.#clock.yield();
        sliceStartMs = this.#clock.monotonicMs();
      }
    } finally {
      this.#running = false;
    }
  }

  counts(): ReturnType<Scheduler['counts']> {
    return this.#queue.counts();
  }

  async start(signal: AbortSignal): Promise<void> {
    if (this.#config.withoutEffect !== undefined)
      this.#log.warn('settings of the configuration have no effect here', {
        settings: this.#config.withoutEffect.join(', '),
      });
    onAbort(signal, () => this.#queue.stop());
    exposeSchedulerSizes(this.#platform.metrics, { cache: this.#cache, queue: this.#queue }, signal);
    const ownPods = (pod: Stored<Pod>): boolean => this.#profiles.has(schedulerNameOf(pod));
    this.#pods.addHandler({
      onDelete: ({ metadata: { uid } }) => {
        this.#decisions.leaves(uid);
        this.#waitingPods.get(uid)?.reject('', 'removed');
      },
    });
    const synced = followCluster({
      nodes: this.#informers.informer<Node>(Nodes),
      pods: this.#pods,
      cache: this.#cache,
      queue: this.#queue,
      nominations: this.#nominations,
      ownPods,
    });
    this.#objects.onEvent((event, old, now) => {
      // Remembered answers depend on pod, node and the extended resources of device classes.
      if (event.startsWith('device-class/')) for (const { memories } of this.#profiles.values()) memories?.forget();
      this.#queue.notify(event, old, now);
    });
    this.#informers.start(signal);
    await Promise.all([synced(signal), this.#objects.waitForSync(signal)]);
    this.#queue.onReady(() =>
      queueMicrotask(() => background(this.#log, 'a pod could not be handled', this.#runSchedulingLoop(signal))),
    );
    background(this.#log, 'a pod could not be handled', this.#runSchedulingLoop(signal));
  }
}
