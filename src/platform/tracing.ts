/**
 * The tracing port: spans that are exported to a collector. A part without a tracer, or whose span is not sampled, has `undefined` for its span and records nothing. Spans are passed explicitly. Upstream: OpenTelemetry's trace API.
 */

/** The identity of a span for other processes. Upstream: trace.SpanContext. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly sampled: boolean;
  /** Whether it came from another process. */
  readonly remote?: boolean;
}

/** Empty values are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

export interface SpanOptions {
  /** Its sampling decision applies. Absent: the span starts a new trace. */
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
  /** Starts a child span. */
  child(name: string, options?: Omit<SpanOptions, 'parent' | 'link'>): Span;
  /** Ends the span once; with an error it has failed. */
  end(error?: unknown): void;
}

export interface Tracer {
  /** Undefined when it is not sampled; a name function is then not called. */
  start(name: string | (() => string), options?: SpanOptions): Span | undefined;
}
