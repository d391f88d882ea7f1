/** Conditions of custom resource definitions. Upstream: apis/apiextensions/helpers.go. */
import type { CustomResourceDefinition, CustomResourceDefinitionCondition } from '../../api/gen/apiextensions-v1.ts';

/** A condition without its time. */
export type ConditionState = Omit<CustomResourceDefinitionCondition, 'lastTransitionTime'>;

/** The condition of a type. */
export function conditionOf(
  definition: CustomResourceDefinition,
  type: string,
): CustomResourceDefinitionCondition | undefined {
  return definition.status?.conditions?.find((condition) => condition.type === type);
}

export function isConditionTrue(definition: CustomResourceDefinition, type: string): boolean {
  return conditionOf(definition, type)?.status === 'True';
}

/**
 * The definition with the condition set; the transition time changes only with the status. Returns the same object
 * when nothing changes.
 */
export function withCondition(
  definition: CustomResourceDefinition,
  state: ConditionState,
  now: string,
): CustomResourceDefinition {
  const { conditions = [] } = definition.status ?? {};
  const old = conditions.find((condition) => condition.type === state.type);
  if (old?.status === state.status && old.reason === state.reason && old.message === state.message) return definition;
  const lastTransitionTime = old?.status === state.status ? (old.lastTransitionTime ?? now) : now;
  const next: CustomResourceDefinitionCondition = { lastTransitionTime, ...state };
  const others = conditions.map((condition) => (condition === old ? next : condition));
  return {
    ...definition,
    status: { ...definition.status, conditions: old === undefined ? [...others, next] : others },
  };
}

export function withoutCondition(definition: CustomResourceDefinition, type: string): CustomResourceDefinition {
  if (conditionOf(definition, type) === undefined) return definition;
  const conditions = definition.status!.conditions!.filter((condition) => condition.type !== type);
  return { ...definition, status: { ...definition.status, conditions } };
}
