/**
 * Composes the API server's handler: the filters around every request, in order. Upstream:
 * server.DefaultBuildHandlerChain.
 *
 * Every error becomes a Status in the outermost filter. Nothing is asynchronous unless a filter has to wait.
 */
import type { ApiHandler, ApiRequest, Principal } from '../api/transport.ts';
import type { Clock } from '../platform/clock.ts';
import { createDirector, type DirectorDeps } from './director.ts';
import { withAudit } from './filters/audit.ts';
import { withAuthentication, type AuthenticationFilterDeps } from './filters/authentication.ts';
import { withAuthorization, type AuthorizationFilterDeps } from './filters/authorization.ts';
import type { Filter, Handler } from './filters/filter.ts';
import { withImpersonation } from './filters/impersonation/with-impersonation.ts';
import { createOutcome, type OutcomeDeps } from './filters/outcome.ts';
import { withPriorityAndFairness, type FairnessFilterDeps } from './filters/priority-and-fairness.ts';
import { withLargeBodies, type BodyFilterDeps } from './filters/large-bodies.ts';
import { withRequestDeadline } from './filters/request-deadline.ts';
import { withRequestTrace, type RequestTraceFilterDeps } from './filters/request-trace.ts';
import { withTimeout, type TimeoutFilterDeps } from './filters/timeout.ts';
import { queryParams } from './query-params.ts';
import { parseRequestInfo } from './request-info.ts';
import { RequestScope } from './request-scope.ts';

export interface HandlerChainDeps
  extends
    AuthenticationFilterDeps,
    AuthorizationFilterDeps,
    BodyFilterDeps,
    DirectorDeps,
    FairnessFilterDeps,
    RequestTraceFilterDeps,
    TimeoutFilterDeps,
    Omit<OutcomeDeps, 'served'> {
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
}

/** The filters that a request passes, from the first to the last. */
function filtersOf(deps: HandlerChainDeps): readonly Filter[] {
  return [
    withAuthentication(deps),
    withRequestTrace(deps),
    withAudit(deps),
    withImpersonation(deps),
    withRequestDeadline(deps),
    withPriorityAndFairness(deps),
    withTimeout(deps),
    withAuthorization(deps),
    withLargeBodies(deps),
  ];
}

/** The handler of all requests, from the network and from callers inside the process. */
export function buildHandlerChain(deps: HandlerChainDeps): ApiHandler {
  const director = createDirector(deps);
  const chain = filtersOf(deps).reduceRight<Handler>((handler, filter) => filter(handler), director.handle);
  const outcome = createOutcome({ ...deps, served: director.served });
  return (request) => {
    const receivedMs = deps.clock.monotonicMs();
    let scope: RequestScope;
    try {
      scope = requestScopeOf(request, receivedMs);
    } catch (error) {
      return outcome.unreadable(request, error);
    }
    return outcome.of(scope, chain);
  };
}

/** The user until authentication. */
const nobody: Principal = { name: '', groups: [] };

/** Throws 400 for an invalid path or parameters. Upstream: endpoints/filters.WithRequestInfo. */
function requestScopeOf(request: ApiRequest, receivedMs: number): RequestScope {
  const params = queryParams(request.query);
  const info = parseRequestInfo({ method: request.method, path: request.path, params });
  return new RequestScope({ request, info, params, user: request.principal ?? nobody, receivedMs });
}
