/**
 * The parts of the work on one request, in order: for the timeline of a pod's start, and for the request's spans if
 * it is traced. Each part begins where the part before ended.
 */
import type { KubernetesObject } from '../../api/object.ts';
import type { RecordedPod } from '../../component-helpers/pod-trace/step-records.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Span } from '../../platform/tracing.ts';

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

/** Events of the handler's span at the end of parts: upstream's names where it has them. */
const EVENTS: Partial<Readonly<Record<RequestPart, readonly string[]>>> = {
  decode: ['Conversion done', 'About to store object in database'],
  'mutating admission': ['Mutating admission done'],
  'defaults and validation': ['Defaults and validation done'],
  'validating admission': ['Validating admission done'],
  store: ['Write to database call succeeded'],
  answer: ['Writing http response done'],
};

export interface RequestTraceDeps {
  readonly clock: Clock;
  /** Monotonic. */
  readonly startedMs: number;
  /** Absent: the request is not traced. */
  readonly serverSpan: Span | undefined;
  readonly startHandlerSpan: (server: Span) => Span | undefined;
}

export class RequestTrace {
  /** Monotonic, as all its times. */
  readonly startedMs: number;
  readonly parts: { readonly part: RequestPart; readonly endMs: number }[] = [];
  /** The request's write to a pod, if it made one. */
  written: { readonly what: PodWrite; readonly pod: RecordedPod } | undefined;
  readonly #deps: RequestTraceDeps;
  #handlerSpan: Span | undefined;

  constructor(deps: RequestTraceDeps) {
    this.#deps = deps;
    this.startedMs = deps.startedMs;
  }

  /** The parent span for calls to others on behalf of the request. */
  get span(): Span | undefined {
    return this.#handlerSpan ?? this.#deps.serverSpan;
  }

  /** Records that the object is stored; not called for a dry run. */
  created({ metadata: { uid = '', namespace = '', name = '' } }: KubernetesObject, dryRun: boolean): void {
    this.mark('store');
    if (!dryRun) this.wrote('create', { uid, namespace, name });
  }

  wrote(what: PodWrite, pod: RecordedPod): void {
    this.written = { what, pod };
  }

  /** Ends a part. */
  mark(part: RequestPart): void {
    const endMs = this.#deps.clock.monotonicMs();
    this.parts.push({ part, endMs });
    const { serverSpan, startHandlerSpan } = this.#deps;
    if (serverSpan === undefined) return;
    if (part === 'filters') this.#handlerSpan ??= startHandlerSpan(serverSpan);
    for (const event of EVENTS[part] ?? []) this.#handlerSpan?.event(event, endMs);
  }

  /** Records the response's status. */
  end(status: number, error?: unknown): void {
    this.mark('answer');
    const { serverSpan } = this.#deps;
    if (serverSpan === undefined) return;
    this.#handlerSpan?.end(error);
    serverSpan.set({ 'http.response.status_code': status });
    serverSpan.end(status < 500 ? undefined : (error ?? new Error(`status ${status}`)));
  }
}
