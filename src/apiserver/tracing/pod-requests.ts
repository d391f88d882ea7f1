/** The requests that created and bound pods, with the parts of the work on each: the API server's share of a pod's timeline. */
import { StepRecords } from '../../component-helpers/pod-trace/step-records.ts';
import type { StepsOf } from '../../component-helpers/pod-trace/trace-step.ts';
import type { Clock } from '../../platform/clock.ts';
import type { RequestTrace } from './request-trace.ts';

const MAX_PODS = 500;

export class PodRequests {
  readonly #records: StepRecords;

  readonly stepsOf: StepsOf = (namespace, name) => this.#records.find(namespace, name)?.publish('kube-apiserver');

  constructor(clock: Clock) {
    this.#records = new StepRecords(clock, MAX_PODS);
  }

  /** Records an answered request. */
  add({ written, startedMs, parts }: RequestTrace): void {
    if (written === undefined) return;
    const { what, pod } = written;
    const record = pod.uid === '' ? this.#records.find(pod.namespace, pod.name) : this.#records.of(pod);
    if (record === undefined) return;
    const request = record.start(what, { atMs: startedMs });
    let atMs = startedMs;
    for (const { part, endMs } of parts) {
      record.start(part, { parent: request, atMs }).endMs = endMs;
      atMs = endMs;
    }
    request.endMs = atMs;
  }
}
