/** Match conditions of webhooks, compiled once per webhook. Upstream: matchconditions in the webhook dispatchers. */
import { forbidden } from '../../../api/status-error.ts';
import type { Authorizer } from '../../authz/contract.ts';
import { stepByStep } from '../../../base/steps.ts';
import { matchConditionSteps, type MatchConditions as Conditions } from '../../admission-matching/match-conditions.ts';
import type { MatchConditions } from './call-webhook.ts';
import type { AnyWebhook } from './webhook-configurations.ts';

/**
 * How many webhooks' conditions are evaluated in one turn of the event loop, for all requests together: each may have
 * 64.
 */
const WEBHOOKS_PER_TURN = 8;

/** The webhook's failurePolicy decides whether an error refuses the request or skips the webhook. */
export function createWebhookMatchConditions(authorizer: Authorizer): MatchConditions {
  const compiled = new WeakMap<AnyWebhook, Promise<Conditions>>();
  let evaluated = 0;
  return async (invocation, attributes) => {
    const { hook } = invocation.webhook;
    const pause = (): Promise<void> | undefined => attributes.context.pause?.();
    let conditions = compiled.get(hook);
    if (conditions === undefined) {
      conditions = Promise.resolve(stepByStep(matchConditionSteps(hook.matchConditions, hook.failurePolicy), pause));
      compiled.set(hook, conditions);
    }
    if (++evaluated % WEBHOOKS_PER_TURN === 0) await pause();
    const result = await (await conditions).evaluate(attributes, invocation, (asked) => authorizer.authorize(asked));
    if (result.error !== undefined) throw forbidden(attributes.resource, attributes.name, result.error);
    return result.matches;
  };
}
