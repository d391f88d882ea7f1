/** AlwaysAllow and AlwaysDeny. Upstream: authorization/authorizerfactory. */
import type { Authorizer } from './contract.ts';

/** Allows everything. */
export const alwaysAllowAuthorizer: Authorizer = { authorize: () => ({ decision: 'allow', reason: '' }) };

/** Has no opinion, with a reason, as upstream. */
export const alwaysDenyAuthorizer: Authorizer = {
  authorize: () => ({ decision: 'noOpinion', reason: 'Everything is forbidden.' }),
};
