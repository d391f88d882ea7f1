/** Metrics of webhooks' answers and durations, under upstream's names. Upstream: apiserver/pkg/admission/metrics. */
import { StatusError } from '../../../api/status-error.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Metrics } from '../../../platform/metrics.ts';
import type { AdmissionOperation } from '../contract.ts';
import { CallingWebhookError } from './denial.ts';

export interface AskedWebhook {
  readonly name: string;
  readonly mutating: boolean;
  readonly operation: AdmissionOperation;
  readonly failsOpen: boolean;
}

/** Measures a webhook call. Settles like the call. */
export type MeasureWebhook = <T>(asked: AskedWebhook, ask: () => Promise<T>) => Promise<T>;

const PREFIX = 'apiserver_admission_webhook_';
const BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
/** Higher status codes share one label value, as upstream. */
const HIGHEST_CODE = 600;

export function createWebhookMetrics({ metrics, clock }: { metrics: Metrics; clock: Clock }): MeasureWebhook {
  const duration = metrics.histogram({
    name: `${PREFIX}admission_duration_seconds`,
    help: 'Time webhooks took to answer, in seconds.',
    labels: ['name', 'type', 'operation', 'rejected'],
    buckets: BUCKETS,
  });
  const requests = metrics.counter({
    name: `${PREFIX}request_total`,
    help: 'Questions to webhooks, by answer.',
    labels: ['name', 'type', 'operation', 'code', 'rejected'],
  });
  const rejections = metrics.counter({
    name: `${PREFIX}rejection_count`,
    help: 'Requests refused by webhooks, or because they could not be asked.',
    labels: ['name', 'type', 'operation', 'error_type', 'rejection_code'],
  });
  const open = metrics.counter({
    name: `${PREFIX}fail_open_count`,
    help: 'Calls of webhooks that failed and were overlooked.',
    labels: ['name', 'type'],
  });
  return async ({ name, mutating, operation, failsOpen }, ask) => {
    const startMs = clock.monotonicMs();
    const type = mutating ? 'admit' : 'validating';
    const note = (code: number, rejected: boolean): void => {
      const labels = { name, type, operation, rejected: String(rejected) };
      duration.observe((clock.monotonicMs() - startMs) / 1000, labels);
      requests.inc({ ...labels, code: codeText(code) });
    };
    try {
      const answer = await ask();
      note(200, false);
      return answer;
    } catch (error) {
      const { errorType, code } = classify(error);
      const overlooked = errorType === 'calling_webhook_error' && failsOpen;
      if (overlooked) open.inc({ name, type });
      else rejections.inc({ name, type, operation, error_type: errorType, rejection_code: codeText(code) });
      note(code, !overlooked);
      throw error;
    }
  };
}

function codeText(code: number): string {
  return String(Math.min(code, HIGHEST_CODE));
}

function classify(error: unknown): { errorType: string; code: number } {
  if (error instanceof CallingWebhookError) return { errorType: 'calling_webhook_error', code: 0 };
  if (error instanceof StatusError) return { errorType: 'no_error', code: error.status.code ?? 0 };
  return { errorType: 'apiserver_internal_error', code: 0 };
}
