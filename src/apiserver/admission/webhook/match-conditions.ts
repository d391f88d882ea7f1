/** Match conditions of webhooks. Expressions need the CEL evaluator: until it is here they fail, as one that cannot be evaluated does. */
import { forbidden } from '../../../api/status-error.ts';
import type { MatchConditions } from './call-webhook.ts';

/** Fails closed or open, as the webhook's failurePolicy says. */
export const matchConditions: MatchConditions = async ({ webhook }, { resource, name }) => {
  if (webhook.hook.failurePolicy === 'Ignore') return false;
  throw forbidden(resource, name, 'matchConditions are not supported by this server');
};
