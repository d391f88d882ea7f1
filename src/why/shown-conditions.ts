/**
 * All conditions of an object, each with a message. Upstream's components omit the message of some conditions in the normal
 * state; the explanation then has the message that Keelson's components write.
 */
import type { KubernetesObject } from '../api/object.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { DISRUPTION_ALLOWED, disruptionAllowed } from '../component-helpers/disruption-allowed.ts';
import { isPodConditionType, trueConditionText } from '../component-helpers/pod-conditions.ts';
import { conditionsOf, type Condition } from './conditions.ts';
import type { ShownCondition } from './explanation.ts';

/** Objects usually have about ten. */
const MAX_SHOWN = 30;

export function shownConditions(info: ResourceInfo, object: KubernetesObject): readonly ShownCondition[] | undefined {
  const conditions = conditionsOf(object).slice(0, MAX_SHOWN);
  return conditions.length === 0 ? undefined : conditions.map((condition) => shownCondition(info, object, condition));
}

function shownCondition(info: ResourceInfo, object: KubernetesObject, condition: Condition): ShownCondition {
  const { type, status, reason = '', message = '', lastTransitionTime } = condition;
  return {
    type,
    status,
    reason: reason === '' ? undefined : reason,
    message: message === '' ? meaningOf(info, object, condition) : message,
    since: lastTransitionTime ?? undefined,
  };
}

function meaningOf({ group, kind }: ResourceInfo, object: KubernetesObject, condition: Condition): string | undefined {
  const { type, status } = condition;
  if (group === '' && kind === 'Pod' && status === 'True' && isPodConditionType(type))
    return trueConditionText(object as Pod, type).message;
  if (group === 'policy' && kind === 'PodDisruptionBudget' && type === DISRUPTION_ALLOWED && status !== 'Unknown')
    return disruptionAllowed(status === 'True').message;
  return undefined;
}
