/**
 * The API server as a function: the chain of filters around every request. Upstream: server.DefaultBuildHandlerChain.
 *
 * Order: request info, authentication (skipped for callers inside the process), impersonation, priority and fairness (of
 * requests of the network) or places in flight, authorization, then the resource or route. Whatever goes wrong becomes a
 * Status; what is no StatusError is a bug, logged with its stack and answered with 500. Nothing here waits unless a step
 * must: a cached GET is answered in the same turn.
 */
import { badRequest, internalError, methodNotAllowed, noSuchPath, timeout } from '../api/status-error.ts';
import type { ApiHandler, ApiRequest, ApiResponse, Principal } from '../api/transport.ts';
import { parseDurationMs } from '../api/duration.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Authenticator } from './authn/contract.ts';
import type { Auditor } from './audit/auditor.ts';
import type { AuthorizationDecision, Authorizer } from './authz/contract.ts';
import { dispatch, type DispatchDeps } from './dispatch.ts';
import { authenticate } from './filters/authentication.ts';
import { attributesOf, decide, forbiddenError } from './filters/authorization.ts';
import { createImpersonator, type Impersonator } from './filters/impersonation/impersonator.ts';
import { wantedUser, wantsImpersonation } from './filters/impersonation/wanted-user.ts';
import { isLongRunning, type MaxInFlight, type Place } from './filters/max-in-flight.ts';
import type { FlowController } from './flowcontrol/flow-controller.ts';
import type { ResourceRegistry } from './generic-registry/resource-registry.ts';
import type { RouteTable } from './non-resource-routes.ts';
import { noParams, parseRequestInfo } from './request-info.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { RequestScope } from './request-scope.ts';
import { errorResponse, statusOf } from './responses.ts';

/** What the handler needs. */
export interface HandlerDeps extends DispatchDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: ResourceRegistry;
  readonly routes: RouteTable;
  /** Answers what neither the registry nor the routes do: other servers' APIs. Undefined: not theirs either. */
  readonly aggregated: (scope: RequestScope) => Answer | undefined;
  readonly authenticators: readonly Authenticator[];
  readonly authorizers: readonly Authorizer[];
  readonly inFlight: MaxInFlight;
  /** Priority and fairness for requests of the network; without it `inFlight` alone limits them. */
  readonly fairness?: FlowController;
  readonly metrics: RequestMetrics;
  readonly requestTimeoutMs: number;
  /** Records requests; none are without it. */
  readonly auditor?: Auditor;
}

const nobody: Principal = { name: '', groups: [] };

interface Served {
  readonly request: ApiRequest;
  readonly startMs: number;
  readonly impersonate: Impersonator;
  scope: RequestScope;
}

/** Makes the handler. */
export function createHandler(deps: HandlerDeps): ApiHandler {
  const impersonate = createImpersonator();
  return (request) => {
    const scope = undefined as unknown as RequestScope;
    const served: Served = { request, startMs: deps.clock.monotonicMs(), impersonate, scope };
    try {
      const params = request.query === '' ? noParams : new URLSearchParams(request.query);
      const info = parseRequestInfo({ method: request.method, path: request.path, params });
      served.scope = new RequestScope({ request, info, params, user: request.principal ?? nobody });
      const answer = identify(deps, served, { info, params });
      if (!(answer instanceof Promise)) return finish(deps, served, answer);
      return answer.then(
        (response) => finish(deps, served, response),
        (error: unknown) => fail(deps, served, error),
      );
    } catch (error) {
      return fail(deps, served, error);
    }
  };
}

type Answer = ApiResponse | Promise<ApiResponse>;

function identify(deps: HandlerDeps, served: Served, parts: Pick<RequestScope, 'info' | 'params'>): Answer {
  const { request } = served;
  const as = (user: Principal): Answer => {
    if (user !== served.scope.user) served.scope = new RequestScope({ request, ...parts, user });
    const audited = deps.auditor?.begin(served.scope);
    served.scope.audited = audited;
    const written = audited?.written();
    return written === undefined ? go(user, audited) : recorded(written).then(() => go(user, audited));
  };
  const go = (user: Principal, audited: RequestScope['audited']): Answer => {
    const wanted = wantsImpersonation(request) ? wantedUser(request) : undefined;
    if (wanted === undefined) return admit(deps, served.scope);
    const attempt = { wanted, request: attributesOf(user, parts.info), authorizers: deps.authorizers };
    return served.impersonate(attempt).then(({ user: other, constraint }) => {
      served.scope = new RequestScope({ request, ...parts, user: other });
      served.scope.audited = audited;
      audited?.impersonates(other, constraint);
      return admit(deps, served.scope);
    });
  };
  if (request.principal !== undefined) return as(request.principal);
  const known = (user: Principal): Answer => {
    deps.metrics.authentication.succeeded(request, user, deps.clock.nowMs());
    return as(user);
  };
  const user = authenticate(deps.authenticators, request);
  return user instanceof Promise ? user.then(known) : known(user);
}

/** Rejects where a request that cannot be recorded must not go on. Upstream: filters.WithAudit. */
function recorded(written: Promise<unknown>): Promise<unknown> {
  return written.catch((cause: unknown) => {
    throw internalError('failed to store audit event', cause);
  });
}

/** The answer, when its recording has been waited for; it is too late to refuse. */
function answered(scope: RequestScope, response: ApiResponse): ApiResponse | Promise<ApiResponse> {
  const written = scope.audited?.written();
  return written === undefined
    ? response
    : written.then(
        () => response,
        () => response,
      );
}

/** The time a request gets: what it asks for, at most what there is. Upstream: filters.WithRequestDeadline. Throws 400. */
function timeoutMsOf({ params }: RequestScope, timeoutMs: number): number {
  const text = params.get('timeout');
  if (text === null) return timeoutMs;
  const asked = parseDurationMs(text);
  if (asked === undefined)
    throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`);
  return asked <= 0 ? timeoutMs : Math.min(asked, timeoutMs);
}

/** A request may wait for its turn for this part of the time it gets. As upstream. */
const waitPart = 4;

function admit(deps: HandlerDeps, scope: RequestScope): Answer {
  const fairness = scope.request.principal === undefined ? deps.fairness : undefined;
  if (isLongRunning(scope)) {
    if (fairness === undefined || scope.info.verb !== 'watch') return authorize(deps, scope);
    // A watch holds its seats while it begins; others of its kind are not counted.
    const place = fairness.enter(scope, deps.requestTimeoutMs / waitPart);
    return place instanceof Promise
      ? place.then((later) => run(deps, scope, { place: later }))
      : run(deps, scope, { place });
  }
  const limitMs = timeoutMsOf(scope, deps.requestTimeoutMs);
  if (fairness === undefined) return run(deps, scope, { place: deps.inFlight.enter(scope), limitMs });
  const place = fairness.enter(scope, limitMs / waitPart);
  if (!(place instanceof Promise)) return run(deps, scope, { place, limitMs });
  const startMs = deps.clock.monotonicMs();
  return place.then((later) => {
    scope.waitedMs = deps.clock.monotonicMs() - startMs;
    return run(deps, scope, { place: later, limitMs: limitMs - scope.waitedMs });
  });
}

interface Admitted {
  readonly place: Place;
  /** Absent: as long as it likes. */
  readonly limitMs?: number;
}

function run(deps: HandlerDeps, scope: RequestScope, { place, limitMs }: Admitted): Answer {
  let answer: Answer;
  try {
    answer = authorize(deps, scope);
  } catch (error) {
    place.leave();
    throw error;
  }
  if (!(answer instanceof Promise)) {
    place.leave();
    return answer;
  }
  return limitMs === undefined ? answer.finally(() => place.leave()) : inTime(deps, { answer, limitMs, place });
}

interface UnderWay {
  readonly answer: Promise<ApiResponse>;
  readonly limitMs: number;
  /** Given back once, however it ends. */
  readonly place: Place;
}

/** Rejects with 504 when the answer takes longer than it may; the work may still be done. */
function inTime({ clock }: HandlerDeps, { answer, limitMs, place }: UnderWay): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      place.leave();
    };
    const cancel = clock.setTimer(limitMs, () => {
      end();
      reject(timeout('request did not complete within requested timeout - context deadline exceeded'));
    });
    answer.then(
      (response) => {
        end();
        resolve(response);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
  });
}

function authorize(deps: HandlerDeps, scope: RequestScope): Answer {
  const attributes = attributesOf(scope.user, scope.info);
  const verdict = decide(deps.authorizers, attributes);
  if (verdict instanceof Promise) {
    return verdict.then((later) => {
      noteVerdict(scope, later);
      if (later.decision !== 'allow') throw forbiddenError(attributes, later.reason);
      return serve(deps, scope);
    });
  }
  noteVerdict(scope, verdict);
  if (verdict.decision !== 'allow') throw forbiddenError(attributes, verdict.reason);
  return serve(deps, scope);
}

function noteVerdict(scope: RequestScope, { decision, reason }: AuthorizationDecision): void {
  if (scope.audited === undefined) return;
  scope.addAuditAnnotation('authorization.k8s.io/decision', decision === 'allow' ? 'allow' : 'forbid');
  scope.addAuditAnnotation('authorization.k8s.io/reason', reason);
}

function serve(deps: HandlerDeps, scope: RequestScope): Answer {
  const { info, request } = scope;
  const aggregated = deps.aggregated(scope);
  if (aggregated !== undefined) return aggregated;
  if (info.isResourceRequest) {
    const store = deps.registry.find(info.apiGroup, info.apiVersion, info.resource);
    if (store !== undefined) return dispatch(store, scope, deps);
  }
  const route = deps.routes.find(request.path);
  if (route === undefined) throw noSuchPath();
  const methods = route.methods ?? ['GET', 'HEAD'];
  if (!methods.includes(request.method)) {
    if (info.isResourceRequest) throw noSuchPath(); // The route is discovery's: there is no such resource.
    throw methodNotAllowed({ group: '', resource: request.path }, request.method);
  }
  return route.serve(scope);
}

function isKnown(deps: HandlerDeps, scope: RequestScope): boolean {
  const { info } = scope;
  if (info.isResourceRequest) return deps.registry.find(info.apiGroup, info.apiVersion, info.resource) !== undefined;
  return deps.routes.find(info.path) !== undefined;
}

function record(deps: HandlerDeps, served: Served, status: number): void {
  if (served.scope === undefined) return;
  const durationMs = deps.clock.monotonicMs() - served.startMs;
  // What was answered well is known: only of failures it must be looked up.
  const known = status < 400 || (status !== 401 && status !== 403 && isKnown(deps, served.scope));
  const waitedSeconds = served.scope.waitedMs / 1000;
  deps.metrics.observe(served.scope, { code: status, seconds: durationMs / 1000, waitedSeconds, known });
}

function finish(deps: HandlerDeps, served: Served, response: ApiResponse): Answer {
  record(deps, served, response.kind === 'upgrade' ? 101 : response.status);
  const named = withFlow(served.scope, response);
  return deps.auditor === undefined ? named : answered(served.scope, deps.auditor.answer(served.scope, named));
}

/** Says which flow schema and priority level the request had. */
function withFlow({ flowHeaders }: RequestScope, response: ApiResponse): ApiResponse {
  if (flowHeaders === undefined || response.kind === 'upgrade') return response;
  return { ...response, headers: { ...response.headers, ...flowHeaders } };
}

function fail(deps: HandlerDeps, served: Served, error: unknown): Answer {
  const status = statusOf(error, deps.log);
  if (status.code === 429) deps.metrics.terminated();
  if (status.code === 401) deps.metrics.authentication.failed();
  record(deps, served, status.code ?? 500);
  const bare = errorResponse(served.request, status, served.scope?.warnings ?? []);
  const response = served.scope === undefined ? bare : withFlow(served.scope, bare);
  if (deps.auditor === undefined || served.scope === undefined) return response;
  // Who failed to say who they are is recorded as nobody.
  if (status.code === 401) served.scope.audited ??= deps.auditor.begin(served.scope);
  return answered(served.scope, deps.auditor.answer(served.scope, response));
}
