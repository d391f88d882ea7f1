/** Conditions of the Gateway API: the transition time changes only with the status. */
import type { Condition } from './types.ts';

/** A condition without its time. */
export type NewCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

export function condition(type: string, isTrue: boolean, reason: string, message: string): NewCondition {
  return { type, status: isTrue ? 'True' : 'False', reason, message };
}

export function stampConditions(
  wanted: readonly NewCondition[],
  before: readonly Condition[] | undefined,
  { generation, time }: { readonly generation: number; readonly time: string },
): Condition[] {
  return wanted.map((one) => {
    const old = before?.find(({ type }) => type === one.type);
    const lastTransitionTime = old?.status === one.status ? (old.lastTransitionTime ?? time) : time;
    return { ...one, observedGeneration: generation, lastTransitionTime };
  });
}
