/**
 * The condition DisruptionAllowed of a disruption budget, but for its times: the disruption controller writes it, and an
 * eviction by the API server that spends the last disruption.
 *
 * Differs: upstream leaves the message out.
 */
import type { Condition } from '../api/gen/meta-v1.ts';

export const DISRUPTION_ALLOWED = 'DisruptionAllowed';

export function disruptionAllowed(isAllowed: boolean): Pick<Condition, 'status' | 'reason' | 'message'> {
  return isAllowed
    ? { status: 'True', reason: 'SufficientPods', message: 'more pods are healthy than have to be' }
    : { status: 'False', reason: 'InsufficientPods', message: 'no more pods are healthy than have to be' };
}
