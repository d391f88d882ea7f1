/** Validation errors of a strategy, computed in steps where it has some. */
import { stepByStep } from '../../base/steps.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { type FieldCause, invalid, type StatusError } from '../../api/status-error.ts';
import type { Strategy } from '../registry/resource-definition.ts';
import type { RequestContext } from '../request-context.ts';
import type { GenericStore } from './generic-store.ts';

/** Upstream's server has one internal type for events of both groups, in the core group, which its errors name. */
const EVENTS_GROUP = 'events.k8s.io';

/** The error for an invalid object. */
export function invalidObject(
  { info: { group, kind } }: { readonly info: Pick<GenericStore['info'], 'group' | 'kind'> },
  name: string,
  errors: readonly FieldCause[],
): StatusError {
  return invalid({ group: group === EVENTS_GROUP ? '' : group, kind }, name, errors);
}

/** An object and, for updates, the former one. */
interface Change {
  readonly draft: KubernetesObject;
  readonly old: KubernetesObject | undefined;
  readonly context: RequestContext;
}

/** A promise only when there is more than one step. */
export function strategyErrors(
  strategy: Strategy<KubernetesObject>,
  { draft, old, context }: Change,
): FieldCause[] | Promise<FieldCause[]> {
  if (strategy.validationSteps !== undefined && context.pause !== undefined)
    return stepByStep(strategy.validationSteps(draft, old, context), () => context.pause?.());
  return old === undefined ? strategy.validate(draft, context) : strategy.validateUpdate(draft, old, context);
}
