/**
 * Sends audit events to a webhook, in batches, with retries; what does not fit into the buffer meanwhile is dropped and
 * told. Upstream: plugin/audit/{webhook,buffered} in batch mode.
 */
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { AuditWebhookOptions } from '../options/audit-options.ts';
import type { WebhookClient } from '../webhook/webhook-client.ts';
import type { WebhookTarget } from '../webhook/webhook-target.ts';
import type { AuditBackend, AuditEvent } from './event.ts';

/** What sending needs. */
export interface WebhookBackendDeps {
  readonly client: WebhookClient;
  readonly target: WebhookTarget;
  readonly clock: Clock;
  readonly log: Log;
}

const TIMEOUT_MS = 30_000;
const attempts = 5;
const backoffFactor = 1.5;

/** Makes the backend. */
export function createWebhookBackend(
  deps: WebhookBackendDeps,
  options: Omit<AuditWebhookOptions, 'configFile'>,
): AuditBackend {
  return new BatchingBackend(deps, options);
}

class BatchingBackend implements AuditBackend {
  readonly #deps: WebhookBackendDeps;
  readonly #options: Omit<AuditWebhookOptions, 'configFile'>;
  #waiting: AuditEvent[] = [];
  #dropped = 0;
  #cancelWait: CancelTimer | undefined;
  #sending: Promise<void> | undefined;
  #stopped = false;

  constructor(deps: WebhookBackendDeps, options: Omit<AuditWebhookOptions, 'configFile'>) {
    this.#deps = deps;
    this.#options = options;
  }

  write(event: AuditEvent): void {
    const { bufferSize, maxBatchSize, maxWaitMs } = this.#options;
    if (this.#waiting.length >= bufferSize) {
      if (this.#dropped++ === 0) this.#deps.log.error('audit webhook: the buffer is full, events are dropped');
      return;
    }
    this.#waiting.push(event);
    if (this.#waiting.length >= maxBatchSize) this.#send();
    else this.#cancelWait ??= this.#deps.clock.setTimer(maxWaitMs, () => this.#send());
  }

  #send(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#sending ??= this.#drain().finally(() => (this.#sending = undefined));
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#deliver(this.#waiting.splice(0, this.#options.maxBatchSize));
      const { log } = this.#deps;
      if (this.#dropped > 0) log.error('audit webhook: events were dropped', { dropped: this.#dropped });
      this.#dropped = 0;
    }
  }

  async #deliver(items: readonly AuditEvent[]): Promise<void> {
    const { client, target, clock, log } = this.#deps;
    const body = { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {}, items };
    let waitMs = this.#options.initialBackoffMs;
    for (let attempt = 1; ; attempt++) {
      try {
        await client.postUnanswered(target, { body, timeoutMs: TIMEOUT_MS, tellTimeout: false });
        return;
      } catch (err) {
        if (attempt === attempts || this.#stopped) {
          log.error('audit webhook: a batch is lost', { lost: items.length, err });
          return;
        }
      }
      await clock.sleep(waitMs);
      waitMs *= backoffFactor;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#waiting.length > 0) this.#send();
    await this.#sending;
  }
}
