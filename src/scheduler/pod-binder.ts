/**
 * Binds pods to their chosen nodes. A pod counts on its node at once; the binding runs while the next pods are
 * scheduled, and is undone when it fails. Upstream: pkg/scheduler schedule_one.go (assume, bindingCycle,
 * handleBindingCycleError).
 */
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import { isReason } from '../api/status-error.ts';
import type { SchedulerCache } from './cache/scheduler-cache.ts';
import { bindingCycle, runReservePlugins, runUnreservePlugins, type BindingInput } from './binding-cycle.ts';
import type { Extender } from './extenders/extender.ts';
import type { CycleState } from './framework/plugin.ts';
import type { Status } from './framework/status.ts';
import type { WaitingPods } from './framework/waiting-pods.ts';
import { reportNomination } from './report-unschedulable.ts';
import type { ScheduleResult } from './schedule-pod.ts';
import {
  NO_NOMINATION,
  type Cycle,
  type SchedulingFailures,
  type SchedulingFailuresDeps,
} from './scheduling-failures.ts';
import type { SchedulingSteps } from './why/scheduling-steps.ts';

/** A cycle whose plugins have run. */
export interface RunningCycle extends Cycle {
  readonly state: CycleState;
  readonly signal: AbortSignal;
}

export interface PodBinderDeps extends Omit<SchedulingFailuresDeps, 'steps'> {
  readonly cache: SchedulerCache;
  readonly extenders: readonly Extender[];
  readonly failures: SchedulingFailures;
  readonly waitingPods: WaitingPods;
  readonly steps: Pick<SchedulingSteps, 'chosen' | 'bindingFailed'>;
}

export class PodBinder {
  readonly #deps: PodBinderDeps;

  constructor(deps: PodBinderDeps) {
    this.#deps = deps;
  }

  /** Assumes the pod on the node and starts its binding, which is not awaited. */
  assumeAndBind(cycle: RunningCycle, result: ScheduleResult & { readonly node: string }): void {
    const { queued, state, signal } = cycle;
    const { pod } = queued;
    const profile = this.#deps.profileOf(pod);
    this.#recordDecision(pod, result);
    const { node: nodeName } = result;
    this.#deps.cache.assume(pod, nodeName);
    // The pod is assumed on the node now and no longer only nominated.
    this.#deps.nominations.delete(pod.metadata.uid);
    const binder = this.#deps.extenders.find(({ config, isInterested }) => config.bindVerb !== '' && isInterested(pod));
    let isNominated = false;
    const input: BindingInput = {
      profile,
      state,
      pod,
      nodeName,
      signal,
      waitingPods: this.#deps.waitingPods,
      steps: this.#deps.steps.chosen(cycle, nodeName),
      binder,
      nominate: async () => {
        try {
          isNominated = await reportNomination(this.#deps.client, this.#deps.cachedPod(pod) ?? pod, nodeName);
        } catch (error) {
          this.#deps.log.warn('cannot write which node the pod is for', { err: error });
        }
      },
    };
    const failBinding = (status: Status): void => this.#handleBindingCycleError(cycle, input, { status, isNominated });
    const reserveStatus = runReservePlugins(input);
    if (reserveStatus !== undefined) return failBinding(reserveStatus);
    void bindingCycle(input).then(
      (status) => (status === undefined ? this.#handleBindingSuccess(cycle, nodeName) : failBinding(status)),
      (error: unknown) => failBinding({ code: 'error', plugin: '', reasons: [String(error)], cause: error }),
    );
  }

  #recordDecision(pod: Stored<Pod>, result: ScheduleResult & { node: string }): void {
    const { node, scored, statuses, filters } = result;
    this.#deps.decisions.add({
      uid: pod.metadata.uid,
      atMs: this.#deps.clock.nowMs(),
      nodeName: node,
      message: '',
      nodeCount: this.#deps.cache.nodeCount(),
      statuses,
      filters,
      scored,
    });
  }

  #handleBindingSuccess(cycle: Cycle, nodeName: string): void {
    const { attempts, queuedAtMs, pod } = cycle.queued;
    this.#deps.queue.done(pod.metadata.uid);
    this.#deps.nominations.delete(pod.metadata.uid);
    this.#deps.decisions.leaves(pod.metadata.uid);
    this.#deps.failures.recordAttempt(cycle, 'scheduled');
    this.#deps.metrics.scheduled(attempts, (this.#deps.clock.monotonicMs() - queuedAtMs) / 1000);
    const note = `Successfully assigned ${pod.metadata.namespace}/${pod.metadata.name} to ${nodeName}`;
    this.#deps.profileOf(pod).recorder.eventf({
      regarding: pod,
      type: 'Normal',
      reason: 'Scheduled',
      action: 'Binding',
      note,
    });
  }

  /**
   * `isNominated`: nominatedNodeName was written, so the next attempt tries that node first; otherwise an earlier
   * nomination is cleared.
   */
  #handleBindingCycleError(
    cycle: Cycle,
    input: BindingInput,
    { status, isNominated }: { status: Status; isNominated: boolean },
  ): void {
    const { queued } = cycle;
    const uid = queued.pod.metadata.uid;
    runUnreservePlugins(input);
    this.#deps.cache.forget(uid);
    const now = this.#deps.cachedPod(queued.pod);
    if (!isNominated) this.#deps.nominations.set(queued.pod, '');
    else if (now !== undefined) this.#deps.nominations.follow(now);
    // Other pods can use its resources on the node again.
    const spec = { ...queued.pod.spec, nodeName: input.nodeName };
    this.#deps.queue.notify('assigned-pod/delete', { ...queued.pod, spec }, undefined);
    if (isReason(status.cause, 'NotFound')) return this.#deps.queue.done(uid);
    const isError = status.code === 'error';
    this.#deps.steps.bindingFailed(uid, status.reasons.join(', '));
    this.#deps.failures.recordAttempt(cycle, isError ? 'error' : 'unschedulable');
    const { metadata } = queued.pod;
    const message = status.reasons.join(', ');
    this.#deps.log.warn('binding failed; the pod is tried again', {
      pod: `${metadata.namespace}/${metadata.name}`,
      node: input.nodeName,
      err: status.cause ?? message,
    });
    if (this.#deps.queue.place(uid) === undefined) return; // deleted during its binding
    // The newest copy is queued: the pod may have changed during its binding.
    this.#deps.queue.addUnschedulableIfNotPresent(
      { ...queued, pod: now ?? queued.pod },
      isError ? new Set() : new Set([status.plugin]),
    );
    const reason = isError ? 'SchedulerError' : 'Unschedulable';
    this.#deps.failures.reportFailure(queued.pod, { message, reason, ...(isNominated ? {} : NO_NOMINATION) });
  }
}
