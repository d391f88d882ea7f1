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
import { errorMessage } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import type { SeriesEventRecorder } from '../client/event-series-recorder.ts';
import type { InformerFactory } from '../client/informer.ts';
import type { ExplainPod } from '../component-helpers/pod-why.ts';
import type { BasePlatform } from '../platform/platform.ts';
import { bind, reserve, unreserve, type BindingInput } from './binding-cycle.ts';
import { followClusterObjects } from './cluster-objects.ts';
import { createSchedulerCache } from './cache/scheduler-cache.ts';
import type { SchedulerConfig } from './config/scheduler-config.ts';
import { followCluster } from './follow-cluster.ts';
import { extendersInPreemption, filterByExtenders, scoreByExtenders } from './extenders/ask-extenders.ts';
import type { Extender } from './extenders/extender.ts';
import { fitErrorMessage, rejectingPlugins, type Diagnosis } from './fit-error.ts';
import { createNominator } from './framework/nominations.ts';
import type { CycleState, PostFilterResult, QueuedPod, SchedulerPlugin } from './framework/plugin.ts';
import { makesRoom, runPostFilters } from './framework/run-post-filters.ts';
import type { Status } from './framework/status.ts';
import { createWaitingPods } from './framework/waiting-pods.ts';
import { createProfiles, leavingToExtenders, schedulerNameOf, type NamedProfile } from './profiles.ts';
import { createProfilesQueue } from './profiles-queue.ts';
import { findNodes, pickNode, schedulePod, type ScheduleInput, type ScheduleResult } from './schedule-pod.ts';
import { knownPlugins, type PluginEntry } from './plugins/list.ts';
import { createSchedulerTimers } from './scheduler-timers.ts';
import { createSchedulerMetrics, type AttemptResult } from './scheduler-metrics.ts';
import { exposeSchedulerSizes } from './scheduler-sizes.ts';
import { reportNomination, reportUnschedulable, type UnschedulableReport } from './report-unschedulable.ts';
import { createDecisionLog } from './why/decision-log.ts';
import { explainPod } from './why/explain-pod.ts';
import { background, isProgramError } from '../platform/unexpected.ts';

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
}

/** A pod that fits no node, with the result of preemption. */
interface Rejection {
  readonly diagnosis: Diagnosis;
  readonly postFilter: PostFilterResult;
}

/** One attempt to schedule a pod. */
interface Cycle {
  readonly queued: QueuedPod;
  /** Monotonic. */
  readonly startedMs: number;
}

interface RunningCycle extends Cycle {
  readonly state: CycleState;
  readonly signal: AbortSignal;
}

const NOT_HELPED: Status = { code: 'unschedulable', reasons: [], plugin: '' };

/** While its victims are evicted a pod waits for the end of the evictions, not for an event. */
const WAITING_FOR_EVICTIONS: ReadonlySet<string> = new Set(['DefaultPreemption']);

/** Clears nominatedNodeName. Also used when there are no nodes, where PostFilter plugins are not called. */
const NO_NOMINATION = { nominatedNode: '' } as const satisfies PostFilterResult;

/** Pods are scheduled for this long before other work gets a turn. */
const SLICE_MS = 4;

/** Creates the scheduler; nothing runs before `start`. */
export function createScheduler(deps: SchedulerDeps, config: SchedulerConfig): Scheduler {
  const { platform, informers, client, extenders = [], plugins = knownPlugins } = deps;
  const [log, random] = [platform.log.child('scheduler'), platform.random.fork('scheduler')];
  const { clock } = platform;
  const objects = followClusterObjects({ client, informers, clock, log });
  const [cache, waitingPods] = [createSchedulerCache(), createWaitingPods(clock)];
  const metrics = createSchedulerMetrics(platform.metrics);
  const timers = createSchedulerTimers(clock, random.fork('plugin-metrics'), metrics);
  const profiles = createProfiles(
    {
      ...objects,
      ...{ client, clock, random, waitingPods, known: plugins, deviceMetrics: metrics },
      recorderFor: deps.recorderFor,
      timerFor: timers.forProfile,
    },
    leavingToExtenders(config),
  );
  const profileOf = (pod: Stored<Pod>): NamedProfile => {
    const profile = profiles.get(schedulerNameOf(pod));
    if (profile === undefined) throw new Error(`no profile for scheduler ${schedulerNameOf(pod)}`);
    return profile;
  };
  const nominations = createNominator();
  const decisions = createDecisionLog();
  const hintFailed = (plugin: string, err: unknown): void => log.error('queueing hint failed', { plugin, err });
  const queue = createProfilesQueue(
    { clock, profiles: [...profiles.values()], profileOf, hintFailed, incoming: metrics.incoming },
    config,
  );
  const cursor = { startAt: 0 };
  const pods = informers.informer<Pod>(Pods);
  /** The informer's copy of the pod, whose status is newer than the queue's. Undefined once the pod is gone. */
  const cachedPod = ({ metadata: { namespace, name, uid } }: Stored<Pod>): Stored<Pod> | undefined => {
    const seen = pods.get({ namespace, name });
    return seen?.metadata.uid === uid ? seen : undefined;
  };
  let running = false;

  /** Synchronous for most pods; with extenders it waits for their answers. */
  const scheduleOne = (queued: QueuedPod, signal: AbortSignal): void | Promise<void> => {
    const { pod } = queued;
    const uid = pod.metadata.uid;
    if (pod.metadata.deletionTimestamp !== undefined || cache.isAssumed(uid)) return queue.done(uid);
    const profile = profileOf(pod);
    const state = timers.newState();
    const startedMs = clock.monotonicMs();
    const input = { profile, pod, snapshot: cache.snapshot(), random, cursor, nominations };
    const handleResult = (result: ScheduleResult): void | Promise<void> => {
      metrics.algorithmSeconds((clock.monotonicMs() - startedMs) / 1000);
      return finishSchedulingCycle({ queued, state, signal, startedMs }, result);
    };
    if (!extenders.some((extender) => extender.isInterested(pod))) return handleResult(schedulePod(input, state));
    return askExtenders(input, state, signal).then(handleResult, (error: unknown) =>
      handleSchedulingError({ queued, startedMs }, error),
    );
  };
  const askExtenders = async (
    input: ScheduleInput,
    state: CycleState,
    signal: AbortSignal,
  ): Promise<ScheduleResult> => {
    const { pod } = input;
    const found = findNodes(input, state);
    const left = await filterByExtenders({ extenders, pod, nodes: found.feasible, signal, log });
    const more = await scoreByExtenders({ extenders, pod, nodes: left.feasible, signal, log });
    const statuses = new Map([...found.statuses, ...left.statuses]);
    return pickNode(input, state, { found: { ...found, feasible: left.feasible, statuses }, more });
  };
  const recordAttempt = ({ queued, startedMs }: Cycle, result: AttemptResult): void =>
    metrics.attempt({
      result,
      profile: schedulerNameOf(queued.pod),
      seconds: (clock.monotonicMs() - startedMs) / 1000,
    });
  const handleSchedulingError = (cycle: Cycle, error: unknown): void => {
    const { queued } = cycle;
    const { pod } = queued;
    recordAttempt(cycle, 'error');
    const message = errorMessage(error);
    const about = { pod: `${pod.metadata.namespace}/${pod.metadata.name}` };
    if (isProgramError(error)) log.unexpected('error selecting node for pod', error, about);
    else log.error('error selecting node for pod', { ...about, err: error });
    queue.addUnschedulableIfNotPresent(queued, new Set());
    nominations.set(pod, '');
    reportFailure(pod, { message, reason: 'SchedulerError', ...NO_NOMINATION });
  };
  /** The event regards the informer's copy: its resourceVersion keeps an event with another reason out of the earlier series. */
  const recordFailedScheduling = (pod: Stored<Pod>, note: string): void =>
    profileOf(pod).recorder.eventf({
      regarding: cachedPod(pod) ?? pod,
      type: 'Warning',
      reason: 'FailedScheduling',
      action: 'Scheduling',
      note,
    });
  /** Reports an attempt that failed with an error. */
  const reportFailure = (pod: Stored<Pod>, report: Omit<UnschedulableReport, 'clock'>): void => {
    recordFailedScheduling(pod, report.message);
    background(
      log,
      'a pod could not be handled',
      reportUnschedulable(client, cachedPod(pod) ?? pod, { ...report, clock }).catch((error: unknown) =>
        log.warn('cannot write the PodScheduled condition', { err: error }),
      ),
    );
  };
  const finishSchedulingCycle = (cycle: RunningCycle, result: ScheduleResult): void | Promise<void> => {
    const { queued, state, signal } = cycle;
    const { pod } = queued;
    const profile = profileOf(pod);
    if (result.node === undefined) {
      const rejection = runPostFilter(cycle, result);
      if (!(rejection instanceof Promise)) return handleSchedulingFailure(cycle, rejection, signal);
      return rejection.then((later) => handleSchedulingFailure(cycle, later, signal));
    }
    recordDecision(pod, result);
    const { node: nodeName } = result;
    cache.assume(pod, nodeName);
    // The pod is assumed on the node now and no longer only nominated.
    nominations.delete(pod.metadata.uid);
    const binder = extenders.find(({ config: { bindVerb }, isInterested }) => bindVerb !== '' && isInterested(pod));
    let isNominated = false;
    const input: BindingInput = {
      profile,
      state,
      pod,
      nodeName,
      signal,
      waitingPods,
      ...(binder === undefined ? {} : { binder }),
      nominate: async () => {
        try {
          isNominated = await reportNomination(client, cachedPod(pod) ?? pod, nodeName);
        } catch (error) {
          log.warn('cannot write which node the pod is for', { err: error });
        }
      },
    };
    const failBinding = (status: Status): void => handleBindingCycleError(cycle, input, { status, isNominated });
    const reserveStatus = reserve(input);
    if (reserveStatus !== undefined) return failBinding(reserveStatus);
    void bind(input).then(
      (status) => (status === undefined ? handleBindingSuccess(cycle, nodeName) : failBinding(status)),
      (error: unknown) => failBinding({ code: 'error', plugin: '', reasons: [String(error)], cause: error }),
    );
  };
  const recordDecision = (pod: Stored<Pod>, result: ScheduleResult & { node: string }): void => {
    const { node, scored, statuses, filters } = result;
    decisions.add({
      uid: pod.metadata.uid,
      atMs: clock.nowMs(),
      nodeName: node,
      message: '',
      nodeCount: cache.nodeCount(),
      statuses,
      filters,
      ...(scored === undefined ? {} : { scored }),
    });
  };
  const handleBindingSuccess = (cycle: Cycle, nodeName: string): void => {
    const { queued } = cycle;
    const { pod } = queued;
    queue.done(pod.metadata.uid);
    nominations.delete(pod.metadata.uid);
    decisions.leaves(pod.metadata.uid);
    recordAttempt(cycle, 'scheduled');
    metrics.scheduled(queued.attempts, (clock.monotonicMs() - queued.queuedAtMs) / 1000);
    const note = `Successfully assigned ${pod.metadata.namespace}/${pod.metadata.name} to ${nodeName}`;
    profileOf(pod).recorder.eventf({ regarding: pod, type: 'Normal', reason: 'Scheduled', action: 'Binding', note });
  };
  /** `isNominated`: nominatedNodeName was written, so that node is tried first; otherwise any earlier nomination is cleared. */
  const handleBindingCycleError = (
    cycle: Cycle,
    input: BindingInput,
    { status, isNominated }: { status: Status; isNominated: boolean },
  ): void => {
    const { queued } = cycle;
    const uid = queued.pod.metadata.uid;
    unreserve(input);
    cache.forget(uid);
    const now = cachedPod(queued.pod);
    if (!isNominated) nominations.set(queued.pod, '');
    else if (now !== undefined) nominations.follow(now);
    // Its resources on the node are free again for others.
    const spec = { ...queued.pod.spec, nodeName: input.nodeName };
    queue.notify('assigned-pod/delete', { ...queued.pod, spec }, undefined);
    if (isReason(status.cause, 'NotFound')) return queue.done(uid);
    const isError = status.code === 'error';
    recordAttempt(cycle, isError ? 'error' : 'unschedulable');
    const { metadata } = queued.pod;
    const message = status.reasons.join(', ');
    log.warn('binding failed; the pod is tried again', {
      pod: `${metadata.namespace}/${metadata.name}`,
      node: input.nodeName,
      err: status.cause ?? message,
    });
    if (queue.place(uid) === undefined) return; // Deleted meanwhile.
    // The queue gets the newest copy: the pod may have changed during its binding.
    queue.addUnschedulableIfNotPresent(
      { ...queued, pod: now ?? queued.pod },
      isError ? new Set() : new Set([status.plugin]),
    );
    const reason = isError ? 'SchedulerError' : 'Unschedulable';
    reportFailure(queued.pod, { message, reason, ...(isNominated ? {} : NO_NOMINATION) });
  };
  /** Runs the PostFilter plugins (preemption); `handleSchedulingFailure` carries out their result. */
  const runPostFilter = (
    { queued: { pod }, state, signal }: RunningCycle,
    { diagnosis, filters }: { diagnosis: Diagnosis; filters: readonly SchedulerPlugin[] },
  ): Rejection | Promise<Rejection> => {
    const { timer, points } = profileOf(pod);
    const startedMs = timer?.started() ?? 0;
    const { statuses, nodeCount } = diagnosis;
    const snapshot = cache.snapshot();
    const extended = extendersInPreemption({ extenders, pod, snapshot, signal, log });
    const input = { snapshot, statuses, filters, nominations, ...extended };
    const finishPostFilter = (postFilter: PostFilterResult): Rejection => {
      timer?.ended('PostFilter', startedMs, makesRoom(postFilter) ? undefined : NOT_HELPED);
      metrics.preemptionAttempt();
      if (postFilter.victims !== undefined) metrics.victims(postFilter.victims);
      return {
        diagnosis: postFilter.message === undefined ? diagnosis : { ...diagnosis, postFilter: postFilter.message },
        postFilter,
      };
    };
    const result = nodeCount === 0 ? NO_NOMINATION : runPostFilters(points.postFilter, { state, pod, input });
    return result instanceof Promise ? result.then(finishPostFilter) : finishPostFilter(result);
  };
  const handleSchedulingFailure = (cycle: Cycle, { diagnosis, postFilter }: Rejection, signal: AbortSignal): void => {
    const { queued } = cycle;
    recordAttempt(cycle, 'unschedulable');
    const message = fitErrorMessage(diagnosis);
    const { statuses, nodeCount } = diagnosis;
    const filters = filterNames(profileOf(queued.pod));
    const uid = queued.pod.metadata.uid;
    decisions.add({ uid, atMs: clock.nowMs(), message, nodeCount, statuses, filters });
    const isMakingRoom = makesRoom(postFilter);
    // While its victims are evicted the pod waits for that alone, and is then tried at once.
    queue.addUnschedulableIfNotPresent(queued, isMakingRoom ? WAITING_FOR_EVICTIONS : rejectingPlugins(diagnosis));
    recordFailedScheduling(queued.pod, message);
    const { nominatedNode } = postFilter;
    if (nominatedNode !== undefined) nominations.set(queued.pod, nominatedNode);
    const report = { message, clock, ...(nominatedNode === undefined ? {} : { nominatedNode }) };
    background(
      log,
      'a pod could not be handled',
      reportUnschedulable(client, cachedPod(queued.pod) ?? queued.pod, report)
        .then(() => postFilter.commit?.(signal))
        .catch((error: unknown) =>
          log.warn('cannot write the PodScheduled condition or make room for the pod', { err: error }),
        )
        .then(() => (isMakingRoom && !signal.aborted ? queue.activate(uid) : undefined)),
    );
  };
  /** Schedules pods until the queue is empty, yielding every few milliseconds. */
  const runSchedulingLoop = async (signal: AbortSignal): Promise<void> => {
    if (running) return;
    running = true;
    let sliceStartMs = clock.monotonicMs();
    try {
      while (!signal.aborted) {
        const queued = queue.pop();
        if (queued === undefined) break;
        const startedMs = clock.monotonicMs();
        try {
          const pending = scheduleOne(queued, signal);
          if (pending !== undefined) await pending;
        } catch (error) {
          // A plugin threw: this pod is tried again after its back-off, the others go on.
          cache.forget(queued.pod.metadata.uid);
          handleSchedulingError({ queued, startedMs }, error);
        }
        if (clock.monotonicMs() - sliceStartMs < SLICE_MS) continue;
        await clock.yield();
        sliceStartMs = clock.monotonicMs();
      }
    } finally {
      running = false;
    }
  };
  const explainDeps = {
    profileOf: (name: string) => profiles.get(name),
    cache,
    queue,
    decisions,
    nominations,
    nowMs: () => clock.nowMs(),
  };
  return {
    counts: () => queue.counts(),
    why(namespace, name) {
      const pod = pods.get({ namespace, name });
      return pod === undefined ? undefined : explainPod(explainDeps, pod);
    },
    async start(signal) {
      if (config.withoutEffect !== undefined)
        log.warn('settings of the configuration have no effect here', { settings: config.withoutEffect.join(', ') });
      onAbort(signal, () => queue.stop());
      exposeSchedulerSizes(platform.metrics, { cache, queue }, signal);
      const ownPods = (pod: Stored<Pod>): boolean => profiles.has(schedulerNameOf(pod));
      pods.addHandler({
        onDelete({ metadata: { uid } }) {
          decisions.leaves(uid);
          waitingPods.get(uid)?.reject('', 'removed');
        },
      });
      const synced = followCluster({
        nodes: informers.informer<Node>(Nodes),
        pods,
        cache,
        queue,
        nominations,
        ownPods,
      });
      objects.onEvent((event, old, now) => {
        // Remembered answers depend on pod, node and the extended resources of device classes.
        if (event.startsWith('device-class/')) for (const { memories } of profiles.values()) memories?.forget();
        queue.notify(event, old, now);
      });
      informers.start(signal);
      await Promise.all([synced(signal), objects.waitForSync(signal)]);
      queue.onReady(() =>
        queueMicrotask(() => background(log, 'a pod could not be handled', runSchedulingLoop(signal))),
      );
      background(log, 'a pod could not be handled', runSchedulingLoop(signal));
    },
  };
}

function filterNames({ points }: NamedProfile): string[] {
  return points.filter.map(({ name }) => name);
}
