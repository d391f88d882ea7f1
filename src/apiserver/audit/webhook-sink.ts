/** Sends audit events to a webhook, with retries. Upstream: plugin/audit/webhook. */
import { stringifyJson } from '../../api/codec/json.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { WebhookClient } from '../webhook/webhook-client.ts';
import type { WebhookTarget } from '../webhook/webhook-target.ts';
import type { AuditSink } from './event.ts';

export interface WebhookSinkDeps {
  readonly client: WebhookClient;
  readonly target: WebhookTarget;
  readonly clock: Clock;
}

const TIMEOUT_MS = 30_000;
const ATTEMPTS = 5;
const BACKOFF_FACTOR = 1.5;
/** The time limit for all batches during the shutdown: a supervisor would kill a process that takes longer. */
const FINISH_MS = 10_000;

const HEAD = Buffer.from('{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[');
const COMMA = Buffer.from(',');
const TAIL = Buffer.from(']}');

function listOf(events: readonly Buffer[]): Buffer {
  return Buffer.concat([HEAD, ...events.flatMap((event, index) => (index === 0 ? [event] : [COMMA, event])), TAIL]);
}

/** During the shutdown nothing is retried. */
export function createWebhookSink({ client, target, clock }: WebhookSinkDeps, initialBackoffMs: number): AuditSink {
  const last = new AbortController();
  const cut = new AbortController();
  let cancelCut: CancelTimer | undefined;
  return {
    encode: (event) => Buffer.from(stringifyJson(event)),
    async send(events) {
      const body = listOf(events);
      let waitMs = initialBackoffMs;
      for (let attempt = 1; ; attempt++) {
        try {
          await client.postUnanswered(target, {
            body,
            timeoutMs: TIMEOUT_MS,
            sendTimeout: false,
            signal: cut.signal,
          });
          return;
        } catch (error) {
          if (attempt === ATTEMPTS || last.signal.aborted) throw error;
        }
        await sleepUnlessAborted(clock, waitMs, last.signal);
        waitMs *= BACKOFF_FACTOR;
      }
    },
    finish() {
      last.abort();
      cancelCut ??= clock.setTimer(FINISH_MS, () => cut.abort());
    },
    async stop() {
      last.abort();
      cancelCut?.();
    },
  };
}
