/** A request continues as the user that its headers name. Upstream: WithConstrainedImpersonation. */
import type { Authorizer } from '../../authz/contract.ts';
import { recordRefusal } from '../../refused-requests/refusal-source.ts';
import { attributesOf } from '../authorization.ts';
import type { Filter } from '../filter.ts';
import { createImpersonator } from './impersonator.ts';
import { wantedUser, wantsImpersonation } from './wanted-user.ts';

/** Throws 400 and 403. */
export function withImpersonation({ authorizers }: { readonly authorizers: readonly Authorizer[] }): Filter {
  const impersonate = createImpersonator();
  return (handler) => (scope) => {
    const wanted = wantsImpersonation(scope.request) ? wantedUser(scope.request) : undefined;
    if (wanted === undefined) return handler(scope);
    const attempt = { wanted, request: attributesOf(scope.user, scope.info), authorizers };
    return impersonate(attempt).then(
      ({ user, constraint }) => {
        scope.addWait('impersonation', 0);
        scope.impersonator = scope.user;
        scope.user = user;
        scope.audited?.impersonates(user, constraint);
        return handler(scope);
      },
      (error: unknown) => {
        throw recordRefusal(error, { part: 'impersonation' });
      },
    );
  };
}
