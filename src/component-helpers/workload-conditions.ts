/** Conditions of workloads' status. Upstream: the SetXCondition functions of each controller. */

/** The fields that all these conditions have in common. */
export interface WorkloadCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
}

/**
 * The list with the condition set. Unchanged status and reason keep the old condition as it is; an unchanged status keeps
 * its transition time.
 */
export function withCondition<T extends WorkloadCondition>(conditions: readonly T[] | undefined, condition: T): T[] {
  const old = conditions?.find((other) => other.type === condition.type);
  if (old !== undefined && old.status === condition.status && old.reason === condition.reason)
    return [...(conditions ?? [])];
  const next = { ...condition };
  if (old !== undefined && old.status === condition.status && old.lastTransitionTime !== undefined) {
    next.lastTransitionTime = old.lastTransitionTime;
  }
  return [...(conditions ?? []).filter((other) => other.type !== condition.type), next];
}

/** The list without conditions of this type. */
export function withoutCondition<T extends { readonly type: string }>(
  conditions: readonly T[] | undefined,
  type: string,
): T[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}
