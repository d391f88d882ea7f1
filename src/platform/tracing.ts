/**
 * The tracing port: spans that leave the process for a collector. A part that is given no tracer, or whose span is not
 * sampled, has no span (`undefined`) and does nothing for it. Spans are passed explicitly. Upstream: OpenTelemetry's trace API.
 */

/** What identifies a span to other processes. Upstream: trace.SpanContext. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly sampled: boolean;
  /** It came from another process. */
  readonly remote?: boolean;
}

/** Empty texts are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

export interface SpanOptions {
  /** Its sampling decision is taken over. Absent: the span is the first of a trace. */
  readonly parent?: SpanContext | undefined;
  /** A span of another trace that caused this one. */
  readonly link?: SpanContext | undefined;
  /** Default internal. */
  readonly kind?: 'internal' | 'server' | 'client';
  readonly attributes?: SpanAttributes;
  /** Monotonic milliseconds. Default: now. */
  readonly startMs?: number | undefined;
}

/** A sampled span that has not ended. */
export interface Span {
  readonly context: SpanContext;
  set(attributes: SpanAttributes): void;
  /** `atMs`: monotonic, by default now. */
  event(name: string, atMs?: number): void;
  /** A span below this one. */
  child(name: string, options?: Omit<SpanOptions, 'parent' | 'link'>): Span;
  /** Ends it once; with an error it has failed. */
  end(error?: unknown): void;
}

export interface Tracer {
  /** Undefined: not sampled; then a name that is a function is not asked for. */
  start(name: string | (() => string), options?: SpanOptions): Span | undefined;
}
