/**
 * Records the steps of pods' scheduling: the time in the queue, each attempt, the binding. The timeline of a pod's
 * start shows them.
 */
import { stepScope, type StepScope } from '../../component-helpers/pod-trace/step-scope.ts';
import { StepRecords, type StepRecord } from '../../component-helpers/pod-trace/step-records.ts';
import type { StepsOf } from '../../component-helpers/pod-trace/trace-step.ts';
import type { Clock } from '../../platform/clock.ts';
import type { QueuedPod } from '../framework/plugin.ts';

const MAX_PODS = 1000;

/** One attempt to schedule a pod. */
interface Attempt {
  readonly queued: QueuedPod;
  /** Monotonic. */
  readonly startedMs: number;
}

export class SchedulingSteps {
  readonly #records: StepRecords;

  readonly stepsOf: StepsOf = (namespace, name) => this.#records.find(namespace, name)?.publish('kube-scheduler');

  constructor(clock: Clock) {
    this.#records = new StepRecords(clock, MAX_PODS);
  }

  /** A node was chosen. The steps of the binding are added to the returned scope. */
  chosen(attempt: Attempt, nodeName: string): StepScope {
    const record = this.#attempted(attempt, { detail: nodeName });
    return stepScope({ record });
  }

  /** No node was chosen. */
  rejected(attempt: Attempt, reason: string): void {
    this.#attempted(attempt, { error: reason });
  }

  /** The binding failed: the pod returns to the queue. */
  bindingFailed(uid: string, reason: string): void {
    this.#records.get(uid)?.last?.fail(reason);
  }

  #attempted(
    { queued, startedMs }: Attempt,
    outcome: { readonly detail?: string; readonly error?: string },
  ): StepRecord {
    const { uid, namespace, name } = queued.pod.metadata;
    const record = this.#records.of({ uid, namespace, name });
    const queue = record.start('queue', { atMs: record.last?.endMs ?? queued.queuedAtMs });
    queue.endMs = startedMs;
    if (queued.attempts > 1) queue.detail = `before attempt ${queued.attempts}`;
    const decision = record.start('filter and score', { atMs: startedMs });
    decision.detail = outcome.detail;
    if (outcome.error !== undefined) decision.fail(outcome.error);
    record.end(decision);
    return record;
  }
}
