/**
 * The outcome of a request: errors become a Status, and metrics, the watchdog and the audit log record the answer.
 * Upstream: server/filters.WithPanicRecovery, metrics.InstrumentHandlerFunc and the responding half of WithAudit.
 */
import { internalError } from '../../api/status-error.ts';
import type { ApiHeaders, ApiRequest, ApiResponse } from '../../api/transport.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Auditor } from '../audit/auditor.ts';
import type { LoopWatchdog } from '../loop-watchdog.ts';
import type { Director } from '../director.ts';
import type { RefusedRequests } from '../refused-requests/refused-requests.ts';
import type { RequestMetrics } from '../request-metrics.ts';
import type { RequestScope } from '../request-scope.ts';
import { errorResponse, statusOf } from '../responses.ts';
import type { Answer, Handler } from './filter.ts';

export interface OutcomeDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: RequestMetrics;
  readonly auditor?: Auditor;
  readonly watchdog?: LoopWatchdog;
  readonly refused: RefusedRequests;
  readonly served: Director['served'];
}

/** Turns what a handler returns, throws or rejects with into the answer. */
export interface Outcome {
  of(scope: RequestScope, handler: Handler): Answer;
  /** The answer to a request whose path or query cannot be read. */
  unreadable(request: ApiRequest, error: unknown): ApiResponse;
}

export function createOutcome(deps: OutcomeDeps): Outcome {
  return {
    of(scope, handler) {
      deps.watchdog?.began(scope);
      try {
        const answer = handler(scope);
        if (!(answer instanceof Promise)) return succeed(deps, scope, answer);
        return answer.then(
          (response) => succeed(deps, scope, response),
          (error: unknown) => fail(deps, scope, error),
        );
      } catch (error) {
        return fail(deps, scope, error);
      }
    },
    unreadable: (request, error) => errorResponse(request, statusOf(error, deps.log), []),
  };
}

function succeed(deps: OutcomeDeps, scope: RequestScope, response: ApiResponse): Answer {
  observe(deps, scope, response.kind === 'upgrade' ? 101 : response.status);
  return audited(deps, scope, withFlowHeaders(scope, response));
}

const clientLeft = internalError('the client left').status;

function fail(deps: OutcomeDeps, scope: RequestScope, error: unknown): Answer {
  const { signal } = scope.request;
  // Errors of a client that left end with the signal's reason: the answer is not read.
  const status = signal.aborted && error === signal.reason ? clientLeft : statusOf(error, deps.log);
  if (status.code === 429) deps.metrics.terminated();
  if (status.code === 401) {
    deps.metrics.authentication.failed();
    // A request that failed authentication is recorded without a user.
    scope.audited ??= deps.auditor?.begin(scope);
  }
  observe(deps, scope, status.code ?? 500);
  const auditId = status === clientLeft ? undefined : deps.refused.record(scope, error, status);
  const response = withFlowHeaders(scope, errorResponse(scope.request, status, scope.warnings));
  return audited(deps, scope, auditId === undefined ? response : withHeaders(response, { 'audit-id': auditId }));
}

function observe({ clock, watchdog, metrics, served }: OutcomeDeps, scope: RequestScope, code: number): void {
  const { receivedMs, waitedMs } = scope;
  const endMs = clock.monotonicMs();
  watchdog?.ended(scope, { startMs: receivedMs, endMs });
  metrics.observe(scope, {
    code,
    seconds: (endMs - receivedMs) / 1000,
    waitedSeconds: waitedMs / 1000,
    // A rejected user must not learn whether the resource exists.
    place: code === 401 || code === 403 ? undefined : served(scope),
  });
}

/** The answer when its recording has been waited for; it is too late to refuse. */
function audited({ auditor }: OutcomeDeps, scope: RequestScope, response: ApiResponse): Answer {
  if (auditor === undefined) return response;
  const recorded = auditor.answer(scope, response);
  const written = scope.audited?.written();
  if (written === undefined) return recorded;
  return written.then(
    () => recorded,
    () => recorded,
  );
}

/** Names the flow schema and priority level that the request had. */
function withFlowHeaders({ flowHeaders }: RequestScope, response: ApiResponse): ApiResponse {
  return flowHeaders === undefined ? response : withHeaders(response, flowHeaders);
}

function withHeaders(response: ApiResponse, headers: ApiHeaders): ApiResponse {
  return response.kind === 'upgrade' ? response : { ...response, headers: { ...response.headers, ...headers } };
}
