/** How many requests are served at once, and who shares them how. Upstream: ServerRunOptions. */
import { booleanOf, type Flag, type FlagValues, numberOf, OptionsError } from './flags.ts';

/** The flags. */
export const limitFlags: readonly Flag[] = [
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
];

/** The choice. A limit of 0 is none; with priority and fairness their sum is shared. */
export interface LimitOptions {
  readonly maxRequestsInFlight: number;
  readonly maxMutatingRequestsInFlight: number;
  /** False: the two limits alone hold. */
  readonly priorityAndFairness: boolean;
}

/** Checks and settles. Throws `OptionsError`. */
export function parseLimitOptions(values: FlagValues): LimitOptions {
  const limits = {
    maxRequestsInFlight: numberOf(values, 'max-requests-inflight', { otherwise: 400 }),
    maxMutatingRequestsInFlight: numberOf(values, 'max-mutating-requests-inflight', { otherwise: 200 }),
    priorityAndFairness: booleanOf(values, 'enable-priority-and-fairness', true),
  };
  if (limits.priorityAndFairness && limits.maxRequestsInFlight + limits.maxMutatingRequestsInFlight === 0)
    throw new OptionsError(
      '--max-requests-inflight and --max-mutating-requests-inflight: their sum must be positive with --enable-priority-and-fairness',
    );
  return limits;
}
