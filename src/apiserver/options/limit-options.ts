/** Limits of concurrent requests, and their division among clients. Upstream: ServerRunOptions. */
import { booleanOf, durationMsOf, type Flag, type FlagValues, numberOf, OptionsError } from './flags.ts';

export const LIMIT_FLAGS: readonly Flag[] = [
  {
    name: 'max-requests-inflight',
    value: '<number>',
    description: 'limit of reading requests at once; 0: none (default 400)',
  },
  {
    name: 'max-mutating-requests-inflight',
    value: '<number>',
    description: 'limit of mutating requests at once; 0: none (default 200)',
  },
  {
    name: 'enable-priority-and-fairness',
    value: '<bool>',
    description: 'share the sum of both limits by flow schemas and priority levels (default true)',
  },
  {
    name: 'request-timeout',
    value: '<duration>',
    description: 'how long a request may take, watches and streams aside (default 1m0s)',
  },
];

/** The limits; 0 means no limit. With priority and fairness their sum is divided. */
export interface LimitOptions {
  readonly maxRequestsInFlight: number;
  readonly maxMutatingRequestsInFlight: number;
  /** False: only the two limits apply. */
  readonly priorityAndFairness: boolean;
  readonly requestTimeoutMs: number;
}

/** Checks the flags and completes them with defaults. Throws `OptionsError`. */
export function parseLimitOptions(values: FlagValues): LimitOptions {
  const limits = {
    maxRequestsInFlight: numberOf(values, 'max-requests-inflight', { otherwise: 400 }),
    maxMutatingRequestsInFlight: numberOf(values, 'max-mutating-requests-inflight', { otherwise: 200 }),
    priorityAndFairness: booleanOf(values, 'enable-priority-and-fairness', true),
    requestTimeoutMs: durationMsOf(values, 'request-timeout', 60_000),
  };
  if (limits.requestTimeoutMs <= 0) throw new OptionsError('--request-timeout: can not be negative or zero');
  if (limits.priorityAndFairness && limits.maxRequestsInFlight + limits.maxMutatingRequestsInFlight === 0)
    throw new OptionsError(
      '--max-requests-inflight and --max-mutating-requests-inflight: their sum must be positive with --enable-priority-and-fairness',
    );
  return limits;
}
