/**
 * Creates spans: ids, the sampling decision, and the export of finished spans. Upstream: OpenTelemetry's SDK with the
 * sampler ParentBased(TraceIDRatioBased) that component-base/tracing sets up.
 */
import { errorMessage } from '../../base/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import type { Span, SpanAttributes, SpanContext, SpanOptions, Tracer } from '../../platform/tracing.ts';

/** A span that has ended. Times are wall-clock milliseconds. */
export interface FinishedSpan {
  readonly context: SpanContext;
  readonly parent: SpanContext | undefined;
  readonly link: SpanContext | undefined;
  readonly name: string;
  readonly kind: NonNullable<SpanOptions['kind']>;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly events: readonly { readonly name: string; readonly timeMs: number }[];
  readonly error: string | undefined;
}

export interface TracerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly onEnd: (span: FinishedSpan) => void;
}

const MILLION = 1_000_000;
const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;
/** The most events of one span, as upstream's SDK. */
const MAX_EVENTS = 128;

/** Spans without a parent are sampled at this rate per million. */
export function createTracer(deps: TracerDeps, samplingRatePerMillion: number): Tracer {
  const nextId = createIds(deps.random);
  return {
    start(name, options = {}) {
      const { parent } = options;
      if (parent?.sampled === false || (parent === undefined && samplingRatePerMillion === 0)) return undefined;
      const traceId = parent?.traceId ?? nextId(TRACE_ID_BYTES);
      if (parent === undefined && !isSampled(traceId, samplingRatePerMillion)) return undefined;
      return new RunningSpan(deps, { name: typeof name === 'string' ? name : name(), options, traceId, nextId });
    },
  };
}

/** Decides by the trace id, so that components with the same rate agree. */
function isSampled(traceId: string, ratePerMillion: number): boolean {
  return Number.parseInt(traceId.slice(16, 24), 16) / 2 ** 32 < ratePerMillion / MILLION;
}

type NextId = (bytes: number) => string;

/** Random bytes are drawn many at a time: a draw costs more than the bytes. */
function createIds(random: Random): NextId {
  let pool = Buffer.alloc(0);
  return (bytes) => {
    if (pool.length < bytes) pool = Buffer.from(random.bytes(2048));
    const id = pool.toString('hex', 0, bytes);
    pool = pool.subarray(bytes);
    return id;
  };
}

class RunningSpan implements Span {
  readonly context: SpanContext;
  readonly #deps: TracerDeps;
  readonly #name: string;
  readonly #options: SpanOptions;
  readonly #nextId: NextId;
  readonly #startMs: number;
  #attributes: SpanAttributes;
  readonly #events: { name: string; atMs: number }[] = [];
  #ended = false;

  constructor(
    deps: TracerDeps,
    span: { readonly name: string; readonly options: SpanOptions; readonly traceId: string; readonly nextId: NextId },
  ) {
    this.#deps = deps;
    this.#name = span.name;
    this.#options = span.options;
    this.#nextId = span.nextId;
    this.#startMs = span.options.startMs ?? deps.clock.monotonicMs();
    this.#attributes = span.options.attributes ?? {};
    this.context = { traceId: span.traceId, spanId: span.nextId(SPAN_ID_BYTES), sampled: true };
  }

  set(attributes: SpanAttributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
  }

  event(name: string, atMs = this.#deps.clock.monotonicMs()): void {
    if (this.#events.length < MAX_EVENTS) this.#events.push({ name, atMs });
  }

  child(name: string, options: Omit<SpanOptions, 'parent' | 'link'> = {}): Span {
    const { traceId } = this.context;
    return new RunningSpan(this.#deps, {
      name,
      options: { ...options, parent: this.context },
      traceId,
      nextId: this.#nextId,
    });
  }

  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    const { clock, onEnd } = this.#deps;
    const endMs = clock.monotonicMs();
    const offsetMs = clock.nowMs() - endMs;
    const { parent, link, kind = 'internal' } = this.#options;
    onEnd({
      context: this.context,
      parent,
      link,
      name: this.#name,
      kind,
      startMs: this.#startMs + offsetMs,
      endMs: endMs + offsetMs,
      attributes: this.#attributes,
      events: this.#events.map(({ name, atMs }) => ({ name, timeMs: atMs + offsetMs })),
      error: error === undefined ? undefined : errorMessage(error),
    });
  }
}
