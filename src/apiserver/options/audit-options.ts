/** Options of the audit policy and its log and webhook. Upstream: server/options/audit.go. */
import {
  booleanOf,
  choiceOf,
  decimalOf,
  durationMsOf,
  type Flag,
  type FlagValues,
  numberOf,
  OptionsError,
  textOf,
} from './flags.ts';

export const auditFlags: readonly Flag[] = [
  { name: 'audit-policy-file', value: '<file>', description: 'audit.k8s.io/v1 Policy: what is recorded' },
  { name: 'audit-log-path', value: '<file>', description: 'where events are written; - for standard output' },
  { name: 'audit-log-format', value: '<format>', description: 'json (default) or legacy' },
  { name: 'audit-log-maxage', value: '<days>', description: 'days old files are kept (default: for ever)' },
  { name: 'audit-log-maxbackup', value: '<n>', description: 'how many old files are kept (default: all)' },
  { name: 'audit-log-maxsize', value: '<MiB>', description: 'size at which a new file is begun (default: never)' },
  ...deliveryFlags('log', { mode: 'blocking', size: 1, wait: '0s', qps: 0, burst: 0 }),
  {
    name: 'audit-webhook-config-file',
    value: '<file>',
    description: 'kubeconfig of a webhook that takes events',
  },
  ...deliveryFlags('webhook', { mode: 'batch', size: 400, wait: '30s', qps: 10, burst: 15 }),
  {
    name: 'audit-webhook-initial-backoff',
    value: '<duration>',
    description: 'wait before the first retry (default 10s)',
  },
];

/** The flags that the log and the webhook have in common. */
function deliveryFlags(
  to: string,
  usual: { mode: string; size: number; wait: string; qps: number; burst: number },
): Flag[] {
  const { mode, size, wait, qps, burst } = usual;
  const rows = [
    [
      'mode',
      '<mode>',
      `blocking: requests wait for each event; blocking-strict: and fail when it cannot be written; batch (default ${mode})`,
    ],
    ['batch-max-size', '<n>', `most events in a batch (default ${size})`],
    ['batch-max-wait', '<duration>', `longest wait for a batch to fill (default ${wait})`],
    ['batch-buffer-size', '<n>', 'most events that wait; more are dropped (default 10000)'],
    ['batch-throttle-enable', '<bool>', `limit batches a second (default ${qps > 0})`],
    ['batch-throttle-qps', '<n>', `most batches a second on average (default ${qps})`],
    ['batch-throttle-burst', '<n>', `most batches at once (default ${burst})`],
    ['truncate-enabled', '<bool>', 'leave out objects of large events (default false)'],
    ['truncate-max-event-size', '<bytes>', 'largest event with its objects (default 102400)'],
    ['truncate-max-batch-size', '<bytes>', 'largest batch; larger ones are split (default 10485760)'],
  ] as const;
  return rows.map(([name, value, description]) => ({ name: `audit-${to}-${name}`, value, description }));
}

/** A log file. Sizes in MiB and ages in days, 0: no bound. */
export interface AuditLogOptions {
  /** `-`: standard output. */
  readonly path: string;
  readonly format: 'json' | 'legacy';
  readonly maxAgeDays: number;
  readonly maxBackups: number;
  readonly maxSizeMib: number;
}

export interface AuditWebhookOptions {
  readonly configFile: string;
  readonly initialBackoffMs: number;
}

/** The batching of events. */
export interface AuditDelivery {
  readonly mode: 'batch' | 'blocking' | 'blocking-strict';
  readonly maxBatchSize: number;
  readonly maxWaitMs: number;
  readonly bufferSize: number;
  /** Batches a second; 0: no limit. */
  readonly throttleQps: number;
  readonly throttleBurst: number;
  /** 0: no limit. */
  readonly maxEventBytes: number;
  readonly maxBatchBytes: number;
}

/** The options. Without a policy nothing is recorded. */
export interface AuditOptions {
  readonly policyFile?: string;
  readonly log?: AuditLogOptions & { readonly delivery: AuditDelivery };
  readonly webhook?: AuditWebhookOptions & { readonly delivery: AuditDelivery };
}

/** Checks the flags and completes them with defaults. Throws {@link OptionsError}. */
export function parseAuditOptions(values: FlagValues): AuditOptions {
  const policyFile = textOf(values, 'audit-policy-file');
  const path = textOf(values, 'audit-log-path');
  const configFile = textOf(values, 'audit-webhook-config-file');
  const delivery = {
    log: deliveryOf(values, 'log', { mode: 'blocking', size: 1, waitMs: 0, qps: 0, burst: 0 }),
    webhook: deliveryOf(values, 'webhook', { mode: 'batch', size: 400, waitMs: 30_000, qps: 10, burst: 15 }),
  };
  const log = path === undefined ? undefined : { path, ...logLimits(values), delivery: delivery.log };
  const webhook =
    configFile === undefined
      ? undefined
      : {
          configFile,
          initialBackoffMs: durationMsOf(values, 'audit-webhook-initial-backoff', 10_000),
          delivery: delivery.webhook,
        };
  return {
    policyFile,
    log,
    webhook,
  };
}

interface UsualDelivery {
  readonly mode: AuditDelivery['mode'];
  readonly size: number;
  readonly waitMs: number;
  readonly qps: number;
  readonly burst: number;
}

function deliveryOf(values: FlagValues, to: 'log' | 'webhook', usual: UsualDelivery): AuditDelivery {
  const name = (rest: string): string => `audit-${to}-${rest}`;
  const modes =
    usual.mode === 'batch'
      ? (['batch', 'blocking', 'blocking-strict'] as const)
      : (['blocking', 'blocking-strict', 'batch'] as const);
  const throttles = booleanOf(values, name('batch-throttle-enable'), usual.qps > 0);
  const qps = decimalOf(values, name('batch-throttle-qps'), usual.qps);
  const burst = numberOf(values, name('batch-throttle-burst'), { otherwise: usual.burst });
  if (throttles && (qps <= 0 || burst <= 0))
    throw new OptionsError(
      `--${name('batch-throttle-enable')}: needs a positive --${name(qps <= 0 ? 'batch-throttle-qps' : 'batch-throttle-burst')}`,
    );
  const truncates = booleanOf(values, name('truncate-enabled'), false);
  const maxEventBytes = numberOf(values, name('truncate-max-event-size'), { otherwise: 102_400, least: 1 });
  const maxBatchBytes = numberOf(values, name('truncate-max-batch-size'), { otherwise: 10_485_760, least: 1 });
  if (truncates && maxBatchBytes < maxEventBytes)
    throw new OptionsError(
      `--${name('truncate-max-batch-size')}: must be at least --${name('truncate-max-event-size')}`,
    );
  return {
    mode: choiceOf(values, name('mode'), modes),
    maxBatchSize: numberOf(values, name('batch-max-size'), { otherwise: usual.size, least: 1 }),
    maxWaitMs: durationMsOf(values, name('batch-max-wait'), usual.waitMs),
    bufferSize: numberOf(values, name('batch-buffer-size'), { otherwise: 10_000, least: 1 }),
    throttleQps: throttles ? qps : 0,
    throttleBurst: burst,
    maxEventBytes: truncates ? maxEventBytes : 0,
    maxBatchBytes: truncates ? maxBatchBytes : 0,
  };
}

function logLimits(values: FlagValues): Omit<AuditLogOptions, 'path'> {
  return {
    format: choiceOf(values, 'audit-log-format', ['json', 'legacy']),
    maxAgeDays: numberOf(values, 'audit-log-maxage', { otherwise: 0 }),
    maxBackups: numberOf(values, 'audit-log-maxbackup', { otherwise: 0 }),
    maxSizeMib: numberOf(values, 'audit-log-maxsize', { otherwise: 0 }),
  };
}
