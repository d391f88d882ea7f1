/**
 * Finds nodes for pods: filters, extenders, scores, and preemption where no node fits. Results go to the pod binder
 * or to the failure handler. Upstream: pkg/scheduler schedule_one.go (ScheduleOne, schedulingCycle).
 */
import type { PostFilterResult, QueuedPod, SchedulerPlugin, CycleState } from './framework/plugin.ts';
import { stepByStep } from '../base/steps.ts';
import { preparation } from './framework/profile.ts';
import { makesRoom, runPostFilters } from './framework/run-post-filters.ts';
import type { Status } from './framework/status.ts';
import type { Random } from '../platform/random.ts';
import { extendersInPreemption, filterByExtenders, scoreByExtenders } from './extenders/ask-extenders.ts';
import type { Diagnosis } from './fit-error.ts';
import type { PodBinder, PodBinderDeps, RunningCycle } from './pod-binder.ts';
import { findNodes, pickNode, schedulePod, type ScheduleInput, type ScheduleResult } from './schedule-pod.ts';
import type { SchedulerTimers } from './scheduler-timers.ts';
import { NO_NOMINATION, type Rejection } from './scheduling-failures.ts';

export interface SchedulingCyclesDeps extends Pick<
  PodBinderDeps,
  'cache' | 'clock' | 'extenders' | 'failures' | 'log' | 'metrics' | 'nominations' | 'profileOf' | 'queue'
> {
  readonly binder: PodBinder;
  readonly random: Random;
  readonly timers: SchedulerTimers;
}

const NOT_HELPED: Status = { code: 'unschedulable', reasons: [], plugin: '' };

export class SchedulingCycles {
  readonly #deps: SchedulingCyclesDeps;
  /** The index at which the next search begins, so that the searches go around all nodes. */
  readonly #cursor = { startAt: 0 };

  constructor(deps: SchedulingCyclesDeps) {
    this.#deps = deps;
  }

  /** Synchronous for most pods; a promise where extenders are called. */
  scheduleOne(queued: QueuedPod, signal: AbortSignal): void | Promise<void> {
    const { pod } = queued;
    const uid = pod.metadata.uid;
    if (pod.metadata.deletionTimestamp !== undefined || this.#deps.cache.isAssumed(uid))
      return this.#deps.queue.done(uid);
    const profile = this.#deps.profileOf(pod);
    const state = this.#deps.timers.newState();
    const startedMs = this.#deps.clock.monotonicMs();
    const input = {
      profile,
      pod,
      snapshot: this.#deps.cache.snapshot(),
      random: this.#deps.random,
      cursor: this.#cursor,
      nominations: this.#deps.nominations,
    };
    const handleResult = (result: ScheduleResult): void | Promise<void> => {
      this.#deps.metrics.algorithmSeconds((this.#deps.clock.monotonicMs() - startedMs) / 1000);
      return this.#finishSchedulingCycle({ queued, state, signal, startedMs }, result);
    };
    const asksExtenders = this.#deps.extenders.some((extender) => extender.isInterested(pod));
    const preparing = stepByStep(preparation(input, state), () => this.#deps.clock.yield());
    if (!asksExtenders && !(preparing instanceof Promise)) return handleResult(schedulePod(input, state));
    const schedule = async (): Promise<ScheduleResult> => {
      await preparing;
      const now = { ...input, snapshot: this.#deps.cache.snapshot() };
      return asksExtenders ? this.#askExtenders(now, state, signal) : schedulePod(now, state);
    };
    return schedule().then(handleResult, (error: unknown) =>
      this.#deps.failures.handleSchedulingError({ queued, startedMs }, error),
    );
  }

  async #askExtenders(input: ScheduleInput, state: CycleState, signal: AbortSignal): Promise<ScheduleResult> {
    const { pod } = input;
    const foundNodes = findNodes(input, state);
    const left = await filterByExtenders({
      extenders: this.#deps.extenders,
      pod,
      nodes: foundNodes.feasible,
      signal,
      log: this.#deps.log,
    });
    const more = await scoreByExtenders({
      extenders: this.#deps.extenders,
      pod,
      nodes: left.feasible,
      signal,
      log: this.#deps.log,
    });
    const statuses = new Map([...foundNodes.statuses, ...left.statuses]);
    return pickNode(input, state, { found: { ...foundNodes, feasible: left.feasible, statuses }, more });
  }

  #finishSchedulingCycle(cycle: RunningCycle, result: ScheduleResult): void | Promise<void> {
    const { node } = result;
    if (node !== undefined) return this.#deps.binder.assumeAndBind(cycle, { ...result, node });
    const rejection = this.#runPostFilter(cycle, result);
    const handle = (rejected: Rejection): void | Promise<void> =>
      this.#deps.failures.handleSchedulingFailure(cycle, rejected, cycle.signal);
    return rejection instanceof Promise ? rejection.then(handle) : handle(rejection);
  }

  /** Runs the PostFilter plugins (preemption); `handleSchedulingFailure` carries out their result. */
  #runPostFilter(
    { queued: { pod }, state, signal }: RunningCycle,
    { diagnosis, filters }: { diagnosis: Diagnosis; filters: readonly SchedulerPlugin[] },
  ): Rejection | Promise<Rejection> {
    const { timer, points } = this.#deps.profileOf(pod);
    const startedMs = timer?.started() ?? 0;
    const { statuses, nodeCount } = diagnosis;
    const snapshot = this.#deps.cache.snapshot();
    const extended = extendersInPreemption({
      extenders: this.#deps.extenders,
      pod,
      snapshot,
      signal,
      log: this.#deps.log,
    });
    const input = { snapshot, statuses, filters, nominations: this.#deps.nominations, ...extended };
    const finishPostFilter = (postFilter: PostFilterResult): Rejection => {
      timer?.ended('PostFilter', startedMs, makesRoom(postFilter) ? undefined : NOT_HELPED);
      this.#deps.metrics.preemptionAttempt();
      if (postFilter.victims !== undefined) this.#deps.metrics.victims(postFilter.victims);
      return {
        diagnosis: postFilter.message === undefined ? diagnosis : { ...diagnosis, postFilter: postFilter.message },
        postFilter,
      };
    };
    const result = nodeCount === 0 ? NO_NOMINATION : runPostFilters(points.postFilter, { state, pod, input });
    return result instanceof Promise ? result.then(finishPostFilter) : finishPostFilter(result);
  }
}
