/**
 * Scores nodes higher where requests get an alternative that they prefer. Pure. Upstream: computeScore in
 * dynamicresources.go.
 */
import type { AllocationResult } from '../../../api/gen/resource-v1.ts';
import type { WantedClaim } from './claim-requests.ts';

/** The most alternatives that a request may have. */
const MOST_ALTERNATIVES = 8;

/** Whether any request has alternatives, so that nodes can differ. */
export function hasRanks(wanted: readonly WantedClaim[]): boolean {
  return wanted.some(({ requests }) => requests.some((alternatives) => alternatives.length > 1));
}

/** The sum over the requests with alternatives: 8 for the first alternative, 1 for the last. `results`: in the claims' order. */
export function rankScore(wanted: readonly WantedClaim[], results: readonly AllocationResult[]): number {
  let score = 0;
  for (const [at, { claim }] of wanted.entries()) {
    const allocated = new Set(results[at]?.devices?.results?.map(({ request }) => request));
    for (const { name, firstAvailable = [] } of claim.spec.devices?.requests ?? []) {
      const rank = firstAvailable.findIndex((sub) => allocated.has(`${name}/${sub.name}`));
      if (rank !== -1) score += MOST_ALTERNATIVES - rank;
    }
  }
  return score;
}
