/**
 * Handles a failed scheduling attempt: queue, event, condition, nomination and metrics. Upstream: pkg/scheduler
 * schedule_one.go handleSchedulingFailure.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import { errorMessage } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { background, isProgramError } from '../platform/unexpected.ts';
import { type Diagnosis, fitErrorMessage, rejectingPlugins } from './fit-error.ts';
import type { Nominator } from './framework/nominations.ts';
import type { PostFilterResult, QueuedPod } from './framework/plugin.ts';
import { makesRoom } from './framework/run-post-filters.ts';
import { type NamedProfile, schedulerNameOf } from './profiles.ts';
import type { SchedulingQueue } from './queue/contract.ts';
import { reportUnschedulable, type UnschedulableReport } from './report-unschedulable.ts';
import type { AttemptResult, SchedulerMetrics } from './scheduler-metrics.ts';
import type { DecisionLog } from './why/decision-log.ts';
import type { SchedulingSteps } from './why/scheduling-steps.ts';

/** A pod that fits no node, with the result of preemption. */
export interface Rejection {
  readonly diagnosis: Diagnosis;
  readonly postFilter: PostFilterResult;
}

/** One attempt to schedule a pod. */
export interface Cycle {
  readonly queued: QueuedPod;
  /** Monotonic. */
  readonly startedMs: number;
}

/** While its victims are evicted a pod waits for the end of the evictions, not for an event. */
const WAITING_FOR_EVICTIONS: ReadonlySet<string> = new Set(['DefaultPreemption']);

/** Clears nominatedNodeName. Also used when there are no nodes, where PostFilter plugins are not called. */
export const NO_NOMINATION = { nominatedNode: '' } as const satisfies PostFilterResult;

export interface SchedulingFailuresDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly queue: SchedulingQueue;
  readonly nominations: Nominator;
  readonly decisions: DecisionLog;
  readonly metrics: SchedulerMetrics;
  readonly steps: Pick<SchedulingSteps, 'rejected'>;
  profileOf(pod: Stored<Pod>): NamedProfile;
  /** The informer's copy of the pod; undefined once the pod is gone. */
  cachedPod(pod: Stored<Pod>): Stored<Pod> | undefined;
}

export class SchedulingFailures {
  readonly #deps: SchedulingFailuresDeps;

  constructor(deps: SchedulingFailuresDeps) {
    this.#deps = deps;
  }

  recordAttempt({ queued, startedMs }: Cycle, result: AttemptResult): void {
    this.#deps.metrics.attempt({
      result,
      profile: schedulerNameOf(queued.pod),
      seconds: (this.#deps.clock.monotonicMs() - startedMs) / 1000,
    });
  }

  handleSchedulingError(cycle: Cycle, error: unknown): void {
    const { queued } = cycle;
    const { pod } = queued;
    this.recordAttempt(cycle, 'error');
    const message = errorMessage(error);
    this.#deps.steps.rejected(cycle, message);
    const about = { pod: `${pod.metadata.namespace}/${pod.metadata.name}` };
    if (isProgramError(error)) this.#deps.log.unexpected('error selecting node for pod', error, about);
    else this.#deps.log.error('error selecting node for pod', { ...about, err: error });
    this.#deps.queue.addUnschedulableIfNotPresent(queued, new Set());
    this.#deps.nominations.set(pod, '');
    this.reportFailure(pod, { message, reason: 'SchedulerError', ...NO_NOMINATION });
  }

  /** The event regards the informer's copy: its resourceVersion keeps an event with another reason out of the earlier series. */
  #recordFailedScheduling(pod: Stored<Pod>, note: string): void {
    this.#deps.profileOf(pod).recorder.eventf({
      regarding: this.#deps.cachedPod(pod) ?? pod,
      type: 'Warning',
      reason: 'FailedScheduling',
      action: 'Scheduling',
      note,
    });
  }

  /** Reports an attempt that failed with an error. */
  reportFailure(pod: Stored<Pod>, report: Omit<UnschedulableReport, 'clock'>): void {
    this.#recordFailedScheduling(pod, report.message);
    background(
      this.#deps.log,
      'a pod could not be handled',
      reportUnschedulable(this.#deps.client, this.#deps.cachedPod(pod) ?? pod, {
        ...report,
        clock: this.#deps.clock,
      }).catch((error: unknown) => this.#deps.log.warn('cannot write the PodScheduled condition', { err: error })),
    );
  }

  handleSchedulingFailure(cycle: Cycle, { diagnosis, postFilter }: Rejection, signal: AbortSignal): void {
    const { queued } = cycle;
    this.recordAttempt(cycle, 'unschedulable');
    const message = fitErrorMessage(diagnosis);
    this.#deps.steps.rejected(cycle, message);
    const { statuses, nodeCount } = diagnosis;
    const filters = filterNames(this.#deps.profileOf(queued.pod));
    const uid = queued.pod.metadata.uid;
    this.#deps.decisions.add({ uid, atMs: this.#deps.clock.nowMs(), message, nodeCount, statuses, filters });
    const isMakingRoom = makesRoom(postFilter);
    // The pod waits only for its victims' eviction and is then retried at once.
    this.#deps.queue.addUnschedulableIfNotPresent(
      queued,
      isMakingRoom ? WAITING_FOR_EVICTIONS : rejectingPlugins(diagnosis),
    );
    this.#recordFailedScheduling(queued.pod, message);
    const { nominatedNode } = postFilter;
    if (nominatedNode !== undefined) this.#deps.nominations.set(queued.pod, nominatedNode);
    const report = { message, clock: this.#deps.clock, nominatedNode };
    background(
      this.#deps.log,
      'a pod could not be handled',
      reportUnschedulable(this.#deps.client, this.#deps.cachedPod(queued.pod) ?? queued.pod, report)
        .then(() => postFilter.commit?.(signal))
        .catch((error: unknown) =>
          this.#deps.log.warn('cannot write the PodScheduled condition or make room for the pod', { err: error }),
        )
        .then(() => (isMakingRoom && !signal.aborted ? this.#deps.queue.activate(uid) : undefined)),
    );
  }
}

function filterNames({ points }: NamedProfile): string[] {
  return points.filter.map(({ name }) => name);
}
