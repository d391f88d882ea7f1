/** What is written down of requests, and where. Upstream: server/options/audit.go. */
import { choiceOf, durationMsOf, type Flag, type FlagValues, numberOf, OptionsError, textOf } from './flags.ts';

/** The flags. */
export const auditFlags: readonly Flag[] = [
  { name: 'audit-policy-file', value: '<file>', description: 'audit.k8s.io/v1 Policy: what is recorded' },
  { name: 'audit-log-path', value: '<file>', description: 'where events are written; - for standard output' },
  { name: 'audit-log-format', value: '<format>', description: 'json (default) or legacy' },
  { name: 'audit-log-maxage', value: '<days>', description: 'days old files are kept (default: for ever)' },
  { name: 'audit-log-maxbackup', value: '<n>', description: 'how many old files are kept (default: all)' },
  { name: 'audit-log-maxsize', value: '<MiB>', description: 'size at which a new file is begun (default: never)' },
  {
    name: 'audit-webhook-config-file',
    value: '<file>',
    description: 'kubeconfig of a webhook that takes events in batches',
  },
  { name: 'audit-webhook-batch-max-size', value: '<n>', description: 'most events in a batch (default 400)' },
  {
    name: 'audit-webhook-batch-max-wait',
    value: '<duration>',
    description: 'longest wait for a batch to fill (default 30s)',
  },
  {
    name: 'audit-webhook-batch-buffer-size',
    value: '<n>',
    description: 'most events that wait; more are dropped (default 10000)',
  },
  {
    name: 'audit-webhook-initial-backoff',
    value: '<duration>',
    description: 'wait before the first retry (default 10s)',
  },
];

/** A log file. Sizes in MiB and ages in days, 0: no bound. */
export interface AuditLogOptions {
  /** `-`: standard output. */
  readonly path: string;
  readonly format: 'json' | 'legacy';
  readonly maxAgeDays: number;
  readonly maxBackups: number;
  readonly maxSizeMib: number;
}

/** A webhook. */
export interface AuditWebhookOptions {
  readonly configFile: string;
  readonly maxBatchSize: number;
  readonly maxWaitMs: number;
  readonly bufferSize: number;
  readonly initialBackoffMs: number;
}

/** The choice. Without a policy nothing is recorded. */
export interface AuditOptions {
  readonly policyFile?: string;
  readonly log?: AuditLogOptions;
  readonly webhook?: AuditWebhookOptions;
}

/** Checks and settles. Throws {@link OptionsError}. */
export function parseAuditOptions(values: FlagValues): AuditOptions {
  const policyFile = textOf(values, 'audit-policy-file');
  const path = textOf(values, 'audit-log-path');
  const configFile = textOf(values, 'audit-webhook-config-file');
  if (policyFile !== undefined && path === undefined && configFile === undefined)
    throw new OptionsError(
      '--audit-policy-file: needs --audit-log-path or --audit-webhook-config-file to record anything',
    );
  const log = path === undefined ? undefined : { path, ...logLimits(values) };
  const webhook =
    configFile === undefined
      ? undefined
      : {
          configFile,
          maxBatchSize: numberOf(values, 'audit-webhook-batch-max-size', { otherwise: 400, least: 1 }),
          maxWaitMs: durationMsOf(values, 'audit-webhook-batch-max-wait', 30_000),
          bufferSize: numberOf(values, 'audit-webhook-batch-buffer-size', { otherwise: 10_000, least: 1 }),
          initialBackoffMs: durationMsOf(values, 'audit-webhook-initial-backoff', 10_000),
        };
  return {
    ...(policyFile === undefined ? {} : { policyFile }),
    ...(log === undefined ? {} : { log }),
    ...(webhook === undefined ? {} : { webhook }),
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
