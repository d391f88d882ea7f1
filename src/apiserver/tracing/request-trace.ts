/** The parts of the work on one request, in their order. Each part ends where it is marked and begins where the one before ended. */
import type { KubernetesObject } from '../../api/object.ts';
import type { RecordedPod } from '../../component-helpers/pod-trace/step-records.ts';
import type { Clock } from '../../platform/clock.ts';

/** A part of the work on a request. */
export type RequestPart =
  | 'filters'
  | 'decode'
  | 'mutating admission'
  | 'defaults and validation'
  | 'validating admission'
  | 'store'
  | 'answer';

export type PodWrite = 'create' | 'bind';

export class RequestTrace {
  /** Monotonic, as all its times. */
  readonly startedMs: number;
  readonly parts: { readonly part: RequestPart; readonly endMs: number }[] = [];
  /** What the request did to which pod, once it has. */
  written: { readonly what: PodWrite; readonly pod: RecordedPod } | undefined;
  readonly #clock: Clock;

  constructor(clock: Clock, startedMs: number) {
    this.#clock = clock;
    this.startedMs = startedMs;
  }

  /** The object is in the store; a dry run leaves none. */
  created({ metadata: { uid = '', namespace = '', name = '' } }: KubernetesObject, dryRun: boolean): void {
    this.mark('store');
    if (!dryRun) this.wrote('create', { uid, namespace, name });
  }

  wrote(what: PodWrite, pod: RecordedPod): void {
    this.written = { what, pod };
  }

  /** The part ends here. */
  mark(part: RequestPart): void {
    this.parts.push({ part, endMs: this.#clock.monotonicMs() });
  }
}
