/** Tries the authenticators in order; 401 when none recognizes the request. Upstream: endpoints/filters.WithAuthentication. */
import { StatusError, unauthorized } from '../../api/status-error.ts';
import type { ApiRequest, Principal } from '../../api/transport.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Authenticator } from '../authn/contract.ts';
import type { RequestMetrics } from '../request-metrics.ts';
import type { Answer, Filter } from './filter.ts';

export interface AuthenticationFilterDeps {
  readonly clock: Clock;
  readonly authenticators: readonly Authenticator[];
  readonly metrics: RequestMetrics;
}

/** Callers inside the process bring their user with them. Throws or rejects with 401. */
export function withAuthentication({ clock, authenticators, metrics }: AuthenticationFilterDeps): Filter {
  return (handler) => (scope) => {
    const { request } = scope;
    if (request.principal !== undefined) return handler(scope);
    const known = (user: Principal): Answer => {
      metrics.authentication.succeeded(request, user, clock.nowMs());
      scope.user = user;
      return handler(scope);
    };
    const found = authenticate(authenticators, request);
    if (!(found instanceof Promise)) return known(found);
    return found.then((user) => {
      scope.addWait('authentication', clock.monotonicMs() - scope.receivedMs);
      return known(user);
    });
  };
}

/** The user of the request. Synchronous when the authenticators are. */
function authenticate(authenticators: readonly Authenticator[], request: ApiRequest): Principal | Promise<Principal> {
  for (let index = 0; index < authenticators.length; index++) {
    const found = authenticators[index]!.authenticate(request);
    if (found instanceof Promise) return authenticateLater(found, authenticators.slice(index + 1), request);
    if (found !== undefined) return found;
  }
  throw unauthorized();
}

async function authenticateLater(
  first: Promise<Principal | undefined>,
  rest: readonly Authenticator[],
  request: ApiRequest,
): Promise<Principal> {
  let principal: Principal | undefined;
  try {
    principal = await first;
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw unauthorized();
  }
  return principal ?? authenticate(rest, request);
}
