/**
 * Sends finished spans to a collector over OTLP/gRPC without TLS, in batches behind the work. Upstream: otlptracegrpc with
 * the BatchSpanProcessor, whose sizes these are.
 *
 * By hand, over the project's own gRPC: `@opentelemetry/exporter-trace-otlp-grpc` would bring a second one along.
 *
 * The queue is bounded: what has no place in it, and what the collector does not take within a minute, is dropped and counted.
 */
import { errorMessage } from '../../base/errors.ts';
import type { FinishedSpan } from '../../component-helpers/tracing/tracer.ts';
import type { GrpcCaller } from '../../grpc/grpc-caller.ts';
import { GrpcError } from '../../grpc/grpc-error.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { SpanAttributes } from '../../platform/tracing.ts';
import { background } from '../../platform/unexpected.ts';
import { exportRequest } from './otlp-message.ts';

const MAX_QUEUE = 2048;
const MAX_BATCH = 512;
const DELAY_MS = 5000;
const CALL_TIMEOUT_MS = 10_000;
const MAX_RETRY_MS = 60_000;
const EXPORT = { service: 'opentelemetry.proto.collector.trace.v1.TraceService', method: 'Export' };

/** By OTLP's specification another try may help. */
const RETRYABLE: ReadonlySet<string> = new Set([
  'Canceled',
  'DeadlineExceeded',
  'Aborted',
  'OutOfRange',
  'Unavailable',
  'DataLoss',
]);

export interface SpanExporter {
  add(span: FinishedSpan): void;
  /** Sends what is queued, for at most `withinMs`; then nothing more. */
  stop(withinMs: number): Promise<void>;
}

export interface SpanExporterDeps extends Pick<BasePlatform, 'clock' | 'log' | 'metrics'> {
  /** Loads gRPC; called with the first batch. */
  readonly connect: () => Promise<GrpcCaller>;
}

export function createSpanExporter(deps: SpanExporterDeps, resource: SpanAttributes): SpanExporter {
  return new Exporter(deps, resource);
}

class Exporter implements SpanExporter {
  readonly #deps: SpanExporterDeps;
  readonly #resource: SpanAttributes;
  readonly #counts: ReturnType<typeof createCounts>;
  #queue: FinishedSpan[] = [];
  #cancelTimer: (() => void) | undefined;
  #sending: Promise<void> | undefined;
  #caller: Promise<GrpcCaller> | undefined;
  #failing = false;
  readonly #life = new AbortController();

  constructor(deps: SpanExporterDeps, resource: SpanAttributes) {
    this.#deps = deps;
    this.#resource = resource;
    this.#counts = createCounts(deps.metrics);
  }

  add(span: FinishedSpan): void {
    if (this.#queue.length >= MAX_QUEUE || this.#life.signal.aborted) {
      this.#counts.dropped.inc({ reason: 'queue-full' });
      return;
    }
    this.#queue.push(span);
    if (this.#sending !== undefined) return;
    if (this.#queue.length >= MAX_BATCH) this.#send();
    else this.#cancelTimer ??= this.#deps.clock.setTimer(DELAY_MS, () => this.#send());
  }

  async stop(withinMs: number): Promise<void> {
    const cancel = this.#deps.clock.setTimer(withinMs, () => this.#life.abort(new Error('the exporter is stopping')));
    this.#send();
    await this.#sending;
    cancel();
    this.#life.abort(new Error('the exporter has stopped'));
    (await this.#caller?.catch(() => undefined))?.disconnect();
  }

  #send(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#sending !== undefined) return;
    this.#sending = this.#sendAll().finally(() => (this.#sending = undefined));
    background(this.#deps.log, 'spans could not be exported', this.#sending);
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, MAX_BATCH);
      this.#queue = this.#queue.slice(MAX_BATCH);
      await this.#deps.clock.yield();
      await this.#export(batch);
    }
  }

  /** Tries until the collector takes the batch, refuses it or a minute is over. */
  async #export(batch: readonly FinishedSpan[]): Promise<void> {
    const { clock } = this.#deps;
    const untilMs = clock.monotonicMs() + MAX_RETRY_MS;
    const request = exportRequest(batch, this.#resource);
    for (let waitMs = DELAY_MS; ; waitMs *= 2) {
      const error = await this.#try(request, batch.length);
      if (error === undefined) return;
      const isLate = clock.monotonicMs() + waitMs >= untilMs;
      if (!RETRYABLE.has(error.code) || isLate || this.#life.signal.aborted) {
        this.#counts.dropped.inc({ reason: 'not-taken' }, batch.length);
        return;
      }
      await clock.sleep(waitMs, this.#life.signal).catch(() => undefined);
    }
  }

  async #try(request: object, count: number): Promise<GrpcError | undefined> {
    try {
      const caller = await (this.#caller ??= this.#deps.connect());
      const options = { timeoutMs: CALL_TIMEOUT_MS, signal: this.#life.signal };
      const { partialSuccess } = (await caller.unary(EXPORT, request, options)) as ExportResponse;
      // The collector may answer any number, also one that is no safe integer.
      const rejected = Math.min(Math.max(Number(partialSuccess?.rejectedSpans ?? 0), 0), count);
      this.#counts.exported.inc({}, count - rejected);
      if (rejected > 0) this.#counts.dropped.inc({ reason: 'refused' }, rejected);
      if (this.#failing) this.#deps.log.info('the collector of traces takes spans again');
      this.#failing = false;
      return undefined;
    } catch (error) {
      const failure =
        error instanceof GrpcError ? error : new GrpcError('Unavailable', errorMessage(error), { cause: error });
      // Once, until it works again.
      if (!this.#failing && !this.#life.signal.aborted)
        this.#deps.log.warn('the collector of traces takes no spans', { err: failure });
      this.#failing = true;
      return failure;
    }
  }
}

interface ExportResponse {
  readonly partialSuccess?: { readonly rejectedSpans: number | bigint };
}

function createCounts(metrics: BasePlatform['metrics']) {
  return {
    exported: metrics.counter({
      name: 'keelson_trace_spans_exported_total',
      help: 'Spans that the collector has taken.',
    }),
    dropped: metrics.counter({
      name: 'keelson_trace_spans_dropped_total',
      help: 'Spans that did not get to the collector, by why.',
      labels: ['reason'],
    }),
  };
}
