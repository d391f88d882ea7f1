/** Match conditions of webhooks, compiled once per webhook. Upstream: matchconditions in the webhook dispatchers. */
import { forbidden } from '../../../api/status-error.ts';
import type { Authorizer } from '../../authz/contract.ts';
import {
  createMatchConditions,
  type MatchConditions as Conditions,
} from '../../admission-matching/match-conditions.ts';
import type { MatchConditions } from './call-webhook.ts';
import type { AnyWebhook } from './webhook-configurations.ts';

/** An error refuses the request or skips the webhook, by its failurePolicy. */
export function createWebhookMatchConditions(authorizer: Authorizer): MatchConditions {
  const compiled = new WeakMap<AnyWebhook, Conditions>();
  return async (invocation, attributes) => {
    const { hook } = invocation.webhook;
    let conditions = compiled.get(hook);
    if (conditions === undefined) {
      conditions = createMatchConditions(hook.matchConditions, hook.failurePolicy);
      compiled.set(hook, conditions);
    }
    const result = await conditions.evaluate(attributes, invocation, (asked) => authorizer.authorize(asked));
    if (result.error !== undefined) throw forbidden(attributes.resource, attributes.name, result.error);
    return result.matches;
  };
}
