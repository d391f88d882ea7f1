/**
 * The scheduler: takes pods from the queue one by one, finds each a node, counts it there at once and binds it behind, so
 * that the next pod does not wait for the API. Upstream: pkg/scheduler (scheduler.go, schedule_one.go).
 *
 * Exclusive writes: pods/binding, the PodScheduled condition and nominatedNodeName of unbound pods.
 */
import type { Node, Pod } from '../api/gen/core-v1.ts';
import { Nodes, Pods } from '../api/gen/resources.ts';
import { isReason } from '../api/status-error.ts';
import type { Client } from '../client/client.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import type { InformerFactory } from '../client/informer.ts';
import type { BasePlatform } from '../platform/platform.ts';
import { bind, reserve, unreserve, type BindingInput } from './binding-cycle.ts';
import { followClusterObjects } from './cluster-objects.ts';
import { createSchedulerCache } from './cache/scheduler-cache.ts';
import { followCluster } from './follow-cluster.ts';
import { fitErrorMessage, rejectingPlugins, type Diagnosis } from './fit-error.ts';
import { createNominator } from './framework/nominations.ts';
import type { CycleState, PostFilterResult, QueuedPod, SchedulerPlugin } from './framework/plugin.ts';
import type { Profile } from './framework/profile.ts';
import type { Status } from './framework/status.ts';
import { createWaitingPods } from './framework/waiting-pods.ts';
import { schedulerPlugins } from './plugins/list.ts';
import { createSchedulingQueue } from './queue/scheduling-queue.ts';
import { schedulePod } from './schedule-pod.ts';
import { createSchedulerMetrics } from './scheduler-metrics.ts';
import { reportUnschedulable } from './report-unschedulable.ts';

/** What the scheduler works with. */
export interface SchedulerDeps {
  readonly client: Client;
  readonly informers: InformerFactory;
  readonly recorder: EventRecorder;
  readonly platform: BasePlatform;
}

/** How it is set up. */
export interface SchedulerConfig {
  readonly schedulerName: string;
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
}

/** A pod that found no node, and what preemption made of it. */
interface Rejection {
  readonly diagnosis: Diagnosis;
  readonly postFilter: PostFilterResult | undefined;
}

/** Pods tried in one go before other work gets a turn. */
const SLICE_MS = 4;

/** Creates the scheduler; nothing runs before `start`. */
export function createScheduler(deps: SchedulerDeps, config: SchedulerConfig): Scheduler {
  const { platform, informers, client } = deps;
  const log = platform.log.child('scheduler');
  const random = platform.random.fork('scheduler');
  const objects = followClusterObjects(informers);
  const pluginDeps = {
    ...objects,
    client,
    clock: platform.clock,
    random,
    recorder: deps.recorder,
    schedulerName: config.schedulerName,
  };
  const plugins = schedulerPlugins.map(({ create }) => create(pluginDeps));
  const nominations = createNominator();
  const waitingPods = createWaitingPods(platform.clock);
  const weights = Object.fromEntries(schedulerPlugins.map(({ weight }, i) => [plugins[i]?.name ?? '', weight]));
  const profile: Profile = { schedulerName: config.schedulerName, plugins, weights };
  const cache = createSchedulerCache();
  const metrics = createSchedulerMetrics(platform.metrics);
  const sorter = plugins.find((p) => p.less !== undefined);
  const queue = createSchedulingQueue(
    {
      clock: platform.clock,
      plugins,
      less: (a, b) => sorter?.less?.(a, b) ?? 0,
      preEnqueue: (pod) => plugins.map((p) => p.preEnqueue?.(pod)).find((s) => s !== undefined),
    },
    { initialBackoffMs: 1000, maxBackoffMs: 10_000, maxUnschedulableMs: 300_000 },
  );
  const cursor = { startAt: 0 };
  let running = false;

  const scheduleOne = (queued: QueuedPod, signal: AbortSignal): void => {
    const { pod } = queued;
    const uid = pod.metadata.uid ?? '';
    if (pod.metadata.deletionTimestamp !== undefined || cache.isAssumed(uid)) return queue.done(uid);
    const state: CycleState = new Map();
    const startedMs = platform.clock.monotonicMs();
    const result = schedulePod({ profile, pod, snapshot: cache.snapshot(), random, cursor, nominations }, state);
    metrics.algorithmSeconds((platform.clock.monotonicMs() - startedMs) / 1000);
    if (result.node === undefined) return reject(queued, preempt(queued, state, result), signal);
    cache.assume(pod, result.node);
    const input: BindingInput = { profile, state, pod, nodeName: result.node, signal, waitingPods };
    const refused = reserve(input);
    if (refused !== undefined) return undo(queued, input, refused);
    void bind(input).then(
      (status) => (status === undefined ? bound(queued, result.node) : undo(queued, input, status)),
      (error: unknown) => undo(queued, input, { code: 'error', plugin: '', reasons: [String(error)], cause: error }),
    );
  };
  const bound = (queued: QueuedPod, nodeName: string): void => {
    const { pod } = queued;
    queue.done(pod.metadata.uid ?? '');
    nominations.delete(pod.metadata.uid ?? '');
    metrics.attempt('scheduled', (platform.clock.monotonicMs() - queued.queuedAtMs) / 1000);
    deps.recorder.event(
      pod,
      'Normal',
      'Scheduled',
      `Successfully assigned ${pod.metadata.namespace}/${pod.metadata.name} to ${nodeName}`,
    );
  };
  const undo = (queued: QueuedPod, input: BindingInput, status: Status): void => {
    const uid = queued.pod.metadata.uid ?? '';
    unreserve(input);
    cache.forget(uid);
    if (isReason(status.cause, 'NotFound')) return queue.done(uid);
    metrics.attempt('error', 0);
    log.warn('binding failed; the pod is tried again', {
      pod: `${queued.pod.metadata.namespace}/${queued.pod.metadata.name}`,
      node: input.nodeName,
      err: status.cause ?? status.reasons.join(', '),
    });
    queue.requeue(queued, status.code === 'error' ? new Set() : new Set([status.plugin]));
  };
  /** Asks whether others may leave; what was decided is done by `reject`. */
  const preempt = (
    queued: QueuedPod,
    state: CycleState,
    { diagnosis, filters }: { diagnosis: Diagnosis; filters: readonly SchedulerPlugin[] },
  ): Rejection => {
    let postFilter: PostFilterResult | undefined;
    const snapshot = cache.snapshot();
    for (const plugin of diagnosis.nodeCount === 0 ? [] : plugins)
      postFilter ??= plugin.postFilter?.(state, queued.pod, {
        snapshot,
        statuses: diagnosis.statuses,
        filters,
        nominations,
      });
    return {
      diagnosis: postFilter?.message === undefined ? diagnosis : { ...diagnosis, postFilter: postFilter.message },
      postFilter,
    };
  };
  const reject = (queued: QueuedPod, { diagnosis, postFilter }: Rejection, signal: AbortSignal): void => {
    metrics.attempt('unschedulable', 0);
    const message = fitErrorMessage(diagnosis);
    queue.requeue(queued, rejectingPlugins(diagnosis));
    deps.recorder.event(queued.pod, 'Warning', 'FailedScheduling', message);
    const nominatedNode = postFilter?.nominatedNode;
    if (nominatedNode !== undefined) nominations.set(queued.pod, nominatedNode);
    const report = { message, clock: platform.clock, ...(nominatedNode === undefined ? {} : { nominatedNode }) };
    void reportUnschedulable(client, queued.pod, report)
      .then(() => postFilter?.commit?.(signal))
      .catch((error: unknown) =>
        log.warn('cannot write the PodScheduled condition or make room for the pod', { err: error }),
      );
  };
  /** Tries pods until the queue is empty, giving way to others every few milliseconds. */
  const run = async (signal: AbortSignal): Promise<void> => {
    if (running) return;
    running = true;
    let sliceStartMs = platform.clock.monotonicMs();
    try {
      while (!signal.aborted) {
        const queued = queue.pop();
        if (queued === undefined) break;
        scheduleOne(queued, signal);
        if (platform.clock.monotonicMs() - sliceStartMs < SLICE_MS) continue;
        await platform.clock.yield();
        sliceStartMs = platform.clock.monotonicMs();
      }
    } finally {
      running = false;
    }
  };
  return {
    counts: () => queue.counts(),
    async start(signal) {
      signal.addEventListener('abort', () => queue.stop(), { once: true });
      const ownPods = (pod: Pod): boolean => (pod.spec?.schedulerName ?? 'default-scheduler') === config.schedulerName;
      const synced = followCluster({
        nodes: informers.informer<Node>(Nodes),
        pods: informers.informer<Pod>(Pods),
        cache,
        queue,
        nominations,
        ownPods,
      });
      objects.onEvent((event, old, now) => queue.notify(event, old, now));
      informers.start(signal);
      await Promise.all([synced(signal), objects.waitForSync(signal)]);
      queue.onReady(() => queueMicrotask(() => void run(signal)));
      void run(signal);
    },
  };
}
