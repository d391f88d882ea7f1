/**
 * The scheduler: follows the cluster and takes pods from the queue one by one. Finding nodes is in scheduling-cycles.ts, binding in
 * pod-binder.ts. Upstream: pkg/scheduler scheduler.go.
 *
 * Exclusive writes: pods/binding, the PodScheduled condition and nominatedNodeName of unbound pods.
 */
import type { Node, Pod } from '../api/gen/core-v1.ts';
import { Nodes, Pods } from '../api/gen/resources.ts';
import type { Stored } from '../api/object.ts';
import { onAbort } from '../base/abort.ts';
import type { Client } from '../client/client.ts';
import type { SeriesEventRecorder } from '../client/event-series-recorder.ts';
import type { Informer, InformerFactory } from '../client/informer.ts';
import type { ExplainPod } from '../component-helpers/pod-why.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { BasePlatform } from '../platform/platform.ts';
import { background } from '../platform/unexpected.ts';
import { createSchedulerCache } from './cache/scheduler-cache.ts';
import { followClusterObjects, type FollowedObjects } from './cluster-objects.ts';
import type { SchedulerConfig } from './config/scheduler-config.ts';
import type { Extender } from './extenders/extender.ts';
import { followCluster } from './follow-cluster.ts';
import { createNominator } from './framework/nominations.ts';
import { createWaitingPods, type WaitingPods } from './framework/waiting-pods.ts';
import { knownPlugins, type PluginEntry } from './plugins/list.ts';
import { PodBinder } from './pod-binder.ts';
import { createProfilesQueue } from './profiles-queue.ts';
import { createProfiles, leavingToExtenders, type NamedProfile, schedulerNameOf } from './profiles.ts';
import type { SchedulingQueue } from './queue/contract.ts';
import { createSchedulerMetrics, type SchedulerMetrics } from './scheduler-metrics.ts';
import { exposeSchedulerSizes } from './scheduler-sizes.ts';
import { createSchedulerTimers } from './scheduler-timers.ts';
import { SchedulingCycles } from './scheduling-cycles.ts';
import { SchedulingFailures } from './scheduling-failures.ts';
import { createDecisionLog } from './why/decision-log.ts';
import { explainPod } from './why/explain-pod.ts';
import { SchedulingSteps } from './why/scheduling-steps.ts';

export interface SchedulerDeps {
  readonly client: Client;
  readonly informers: InformerFactory;
  readonly recorderFor: (component: string) => SeriesEventRecorder;
  readonly platform: BasePlatform;
  /** In the order of the configuration. */
  readonly extenders?: readonly Extender[];
  /** The plugins that profiles may name; default: all of the list. */
  readonly plugins?: readonly PluginEntry[];
}

export interface Scheduler {
  /** Follows the cluster and schedules until the signal aborts. Resolves once its informers have synced. */
  start(signal: AbortSignal): Promise<void>;
  /** The number of pods in the queue's parts, for metrics and tests. */
  counts(): {
    readonly active: number;
    readonly backoff: number;
    readonly unschedulable: number;
    readonly gated: number;
  };
  /** Explains the state of a pod. Examines all nodes: not for hot paths. */
  readonly why: ExplainPod;
  /** The recorded steps of a pod's scheduling. */
  readonly steps: Pick<SchedulingSteps, 'stepsOf'>;
}

/** Pods are scheduled for this long before the loop yields. */
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
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #objects: FollowedObjects;
  readonly #cache = createSchedulerCache();
  readonly #waitingPods: WaitingPods;
  readonly #metrics: SchedulerMetrics;
  readonly #profiles: ReadonlyMap<string, NamedProfile>;
  readonly #nominations = createNominator();
  readonly #decisions = createDecisionLog();
  readonly #queue: SchedulingQueue;
  readonly #failures: SchedulingFailures;
  readonly #cycles: SchedulingCycles;
  readonly #pods: Informer<Pod>;
  #running = false;

  readonly steps: SchedulingSteps;
  readonly why: ExplainPod = async (namespace, name) => {
    const pod = this.#pods.get({ namespace, name });
    if (pod === undefined) return undefined;
    const explainDeps = {
      profileOf: (schedulerName: string) => this.#profiles.get(schedulerName),
      cache: this.#cache,
      queue: this.#queue,
      decisions: this.#decisions,
      nominations: this.#nominations,
      clock: this.#clock,
    };
    return explainPod(explainDeps, pod);
  };

  constructor(deps: SchedulerDeps, config: SchedulerConfig) {
    this.#config = config;
    const { client, platform, plugins = knownPlugins } = deps;
    this.#platform = platform;
    this.#informers = deps.informers;
    this.#log = platform.log.child('scheduler');
    const random = platform.random.fork('scheduler');
    this.#clock = this.#platform.clock;
    this.steps = new SchedulingSteps(this.#clock);
    this.#objects = followClusterObjects({ client, informers: this.#informers, clock: this.#clock, log: this.#log });
    this.#waitingPods = createWaitingPods(this.#clock);
    this.#metrics = createSchedulerMetrics(this.#platform.metrics);
    const timers = createSchedulerTimers(this.#clock, random.fork('plugin-metrics'), this.#metrics);
    this.#profiles = createProfiles(
      {
        ...this.#objects,
        client,
        clock: this.#clock,
        random,
        waitingPods: this.#waitingPods,
        known: plugins,
        deviceMetrics: this.#metrics,
        recorderFor: deps.recorderFor,
        timerFor: timers.forProfile,
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
    const shared = {
      client,
      clock: this.#clock,
      log: this.#log,
      queue: this.#queue,
      nominations: this.#nominations,
      decisions: this.#decisions,
      metrics: this.#metrics,
      steps: this.steps,
      cache: this.#cache,
      extenders: deps.extenders ?? [],
      profileOf: (pod: Stored<Pod>) => this.#profileOf(pod),
      cachedPod: (pod: Stored<Pod>) => this.#cachedPod(pod),
    };
    const failures = (this.#failures = new SchedulingFailures(shared));
    const binder = new PodBinder({ ...shared, failures, waitingPods: this.#waitingPods });
    this.#cycles = new SchedulingCycles({ ...shared, failures, binder, random, timers });
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
          const pending = this.#cycles.scheduleOne(queued, signal);
          if (pending !== undefined) await pending;
        } catch (error) {
          // A plugin threw: this pod is retried after its back-off, and the loop goes on.
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
      // Remembered results depend on pod, node and the extended resources of device classes.
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
