/** Field errors of a strategy, in steps where its validation has some. */
import { stepByStep } from '../../base/steps.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { FieldCause } from '../../api/status-error.ts';
import type { Strategy } from '../registry/resource-definition.ts';
import type { RequestContext } from '../request-context.ts';

/** An object and, for updates, what it replaces. */
interface Change {
  readonly draft: KubernetesObject;
  readonly old: KubernetesObject | undefined;
  readonly context: RequestContext;
}

/** A promise only where it takes more than one step. */
export function strategyErrors(
  strategy: Strategy<KubernetesObject>,
  { draft, old, context }: Change,
): FieldCause[] | Promise<FieldCause[]> {
  if (strategy.validationSteps !== undefined && context.pause !== undefined)
    return stepByStep(strategy.validationSteps(draft, old, context), () => context.pause?.());
  return old === undefined ? strategy.validate(draft, context) : strategy.validateUpdate(draft, old, context);
}
