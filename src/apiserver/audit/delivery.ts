/**
 * Delivers audit events to a sink: each at once while the request waits (`blocking`), or in batches in the
 * background; events that do not fit into the buffer are dropped and logged. Upstream:
 * plugin/audit/{buffered,truncate} and server/options/audit.go.
 */
import { stringifyJson } from '../../api/codec/json.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { AuditDelivery } from '../options/audit-options.ts';
import type { AuditBackend, AuditEvent, AuditSink } from './event.ts';

export interface DeliveryDeps {
  readonly sink: AuditSink;
  readonly clock: Clock;
  readonly log: Log;
}

/** The audit backend with this sink. */
export function createDelivery(deps: DeliveryDeps, options: AuditDelivery): AuditBackend {
  const backend = options.mode === 'batch' ? new BatchingBackend(deps, options) : blockingBackend(deps, options);
  const { maxEventBytes } = options;
  if (maxEventBytes === 0) return backend;
  return {
    write(event) {
      const fitting = truncateEvent(event, maxEventBytes);
      if (fitting !== undefined) return backend.write(fitting);
      deps.log.error('audit: an event is too large even without its objects, and dropped', { auditID: event.auditID });
      return undefined;
    },
    stop: () => backend.stop(),
  };
}

/** The most bytes of buffered events: they hold whole objects, and a webhook may be unavailable. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** A larger batch is split. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

const sizeOf = (event: AuditEvent): number => Buffer.byteLength(stringifyJson(event));

/** The event without its objects if it is too large; undefined if it is still too large. */
function truncateEvent(event: AuditEvent, maxBytes: number): AuditEvent | undefined {
  if (sizeOf(event) <= maxBytes) return event;
  const { requestObject: _request, responseObject: _response, annotations, ...rest } = event;
  const bare = { ...rest, annotations: { ...annotations, 'audit.k8s.io/truncated': 'true' } };
  return sizeOf(bare) <= maxBytes ? bare : undefined;
}

function blockingBackend({ sink, log }: DeliveryDeps, { mode }: AuditDelivery): AuditBackend {
  const strict = mode === 'blocking-strict';
  return {
    write: (event) =>
      sink.send([sink.encode(event)]).catch((err: unknown) => {
        log.error('audit: an event is lost', { auditID: event.auditID, err });
        if (strict) throw err;
      }),
    stop: () => sink.stop(),
  };
}

class BatchingBackend implements AuditBackend {
  readonly #deps: DeliveryDeps;
  readonly #options: AuditDelivery;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #cancelWait: CancelTimer | undefined;
  #sending: Promise<void> | undefined;
  readonly #stop = new AbortController();
  /** When the next batch is due if batches are sent evenly. */
  #dueMs = 0;

  constructor(deps: DeliveryDeps, options: AuditDelivery) {
    this.#deps = deps;
    this.#options = options;
  }

  write(event: AuditEvent): undefined {
    const { bufferSize, maxBatchSize, maxWaitMs } = this.#options;
    if (this.#waiting.length >= bufferSize) return this.#drop();
    const encoded = this.#deps.sink.encode(event);
    if (this.#waitingBytes + encoded.length > MAX_WAITING_BYTES && this.#waiting.length > 0) return this.#drop();
    this.#waiting.push(encoded);
    this.#waitingBytes += encoded.length;
    if (this.#waiting.length >= maxBatchSize || this.#waitingBytes >= MAX_BATCH_BYTES) this.#send();
    else this.#cancelWait ??= this.#deps.clock.setTimer(maxWaitMs, () => this.#send());
  }

  #drop(): undefined {
    if (this.#dropped++ === 0) this.#deps.log.error('audit: the buffer is full, events are dropped');
  }

  #send(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#sending ??= this.#drain().finally(() => (this.#sending = undefined));
  }

  async #drain(): Promise<void> {
    const { log, sink } = this.#deps;
    while (this.#waiting.length > 0) {
      const batch = this.#take();
      await this.#turn();
      await sink.send(batch).catch((err: unknown) => {
        // During the shutdown nothing is retried; after one failure the remaining events would fail too.
        const left = this.#stop.signal.aborted ? this.#giveUp() : 0;
        log.error('audit: a batch is lost', { lost: batch.length + left, err });
      });
      if (this.#dropped > 0) log.error('audit: events were dropped', { dropped: this.#dropped });
      this.#dropped = 0;
    }
  }

  /** Drops the waiting events; returns their number. */
  #giveUp(): number {
    this.#waitingBytes = 0;
    return this.#waiting.splice(0).length;
  }

  /** As many events as a batch may have, at least one. */
  #take(): Buffer[] {
    const { maxBatchSize, maxBatchBytes } = this.#options;
    const most = maxBatchBytes > 0 ? Math.min(maxBatchBytes, MAX_BATCH_BYTES) : MAX_BATCH_BYTES;
    let count = 0;
    let bytes = 0;
    for (const { length } of this.#waiting) {
      if (count > 0 && (count >= maxBatchSize || bytes + length > most)) break;
      count++;
      bytes += length;
    }
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  /** Waits until a batch may be sent: at a rate per second, with a burst after idle times. */
  async #turn(): Promise<void> {
    const { throttleQps, throttleBurst } = this.#options;
    const { signal } = this.#stop;
    if (throttleQps === 0 || signal.aborted) return;
    const { clock } = this.#deps;
    const periodMs = 1000 / throttleQps;
    const waitMs = this.#dueMs - (Math.max(1, throttleBurst) - 1) * periodMs - clock.monotonicMs();
    if (waitMs > 0) await sleepUnlessAborted(clock, waitMs, signal); // not during the shutdown
    this.#dueMs = Math.max(this.#dueMs, clock.monotonicMs()) + periodMs;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#deps.sink.finish?.();
    if (this.#waiting.length > 0) this.#send();
    await this.#sending;
    await this.#deps.sink.stop();
  }
}
