/** Evaluates conditions, which most kinds have. Upstream: metav1.Condition. */
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { cause, type Cause } from './explanation.ts';
import { nameOfObject } from './object-name.ts';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
}

/** Conditions whose status is True in the normal state. The meaning of unlisted conditions is unknown. */
const POSITIVE = new Set([
  'Ready',
  'Available',
  'Accepted',
  'Programmed',
  'ResolvedRefs',
  'Established',
  'NamesAccepted',
  'Healthy',
  'Synced',
  'Reconciled',
  'Valid',
  'Succeeded',
  'Initialized',
  'Approved',
]);

/** Conditions whose status is False in the normal state. */
const NEGATIVE = new Set([
  'Failed',
  'Degraded',
  'Stalled',
  'ReplicaFailure',
  'Error',
  'Conflicted',
  'Dangling',
  'PartiallyInvalid',
  'keelson.dev/HostConflict',
]);

export function conditionsOf(object: KubernetesObject): readonly Condition[] {
  const { status } = object as { status?: { conditions?: unknown } };
  const conditions: readonly unknown[] = Array.isArray(status?.conditions) ? status.conditions : [];
  return conditions.filter(isCondition);
}

/** Whether the value has a condition's fields; custom resources may have any value there. */
function isCondition(value: unknown): value is Condition {
  if (typeof value !== 'object' || value === null) return false;
  const { type, status, reason = '', message = '', lastTransitionTime } = value as Partial<Record<string, unknown>>;
  const isTime = lastTransitionTime == null || typeof lastTransitionTime === 'string';
  return [type, status, reason, message].every((part) => typeof part === 'string') && isTime;
}

/** Whether the conditions report no trouble: at least one with a known meaning is good, and none of those is unknown. */
export function isHealthy(object: KubernetesObject): boolean {
  const known = conditionsOf(object).filter(({ type }) => POSITIVE.has(type) || NEGATIVE.has(type));
  return known.length > 0 && known.every(({ type, status }) => status === (POSITIVE.has(type) ? 'True' : 'False'));
}

export function conditionOf(object: KubernetesObject, type: string): Condition | undefined {
  return conditionsOf(object).find((condition) => condition.type === type);
}

/** A cause for each condition that reports trouble. */
export function conditionCauses(info: ResourceInfo, object: KubernetesObject): readonly Cause[] {
  return conditionsOf(object)
    .filter(
      ({ type, status }) => (POSITIVE.has(type) && status === 'False') || (NEGATIVE.has(type) && status === 'True'),
    )
    .map((condition) => conditionCause(info, object, condition));
}

/** A cause with the reason and message of one condition. */
export function conditionCause(info: ResourceInfo, object: KubernetesObject, condition: Condition): Cause {
  const { type, status, reason = '', message = '', lastTransitionTime } = condition;
  return cause({
    code: reason === '' ? type : reason,
    object: nameOfObject(info, object),
    message: `condition ${type} is ${status}${reason === '' ? '' : ` (${reason})`}`,
    since: lastTransitionTime ?? undefined,
    facts: message === '' ? [] : [message.trimEnd()],
  });
}
