/**
 * Follows requests that create and bind pods, for the timelines of their starts, and those that are traced. Others pass
 * untouched. Upstream: endpoints/filters.WithTracing.
 *
 * Differs: the span of a watch or an upgraded connection ends when it begins to be answered.
 */
import { StatusError } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Tracer } from '../../platform/tracing.ts';
import type { RequestInfo } from '../request-context.ts';
import type { PodRequests } from '../tracing/pod-requests.ts';
import { RequestTrace } from '../tracing/request-trace.ts';
import { startHandlerSpan, startServerSpan } from '../tracing/server-span.ts';
import type { Filter } from './filter.ts';

export interface RequestTraceFilterDeps {
  readonly clock: Clock;
  readonly podRequests: PodRequests;
  /** Absent: no request is traced. */
  readonly tracer?: Tracer | undefined;
}

export function withRequestTrace({ clock, podRequests, tracer }: RequestTraceFilterDeps): Filter {
  return (handler) => (scope) => {
    const serverSpan = tracer && startServerSpan(tracer, scope);
    if (serverSpan === undefined && !mayCreateOrBindPod(scope.info)) return handler(scope);
    const { receivedMs: startedMs } = scope;
    const trace = new RequestTrace({
      clock,
      startedMs,
      serverSpan,
      startHandlerSpan: (server) => startHandlerSpan(server, scope),
    });
    scope.trace = trace;
    const finish = (response: ApiResponse): ApiResponse => {
      trace.end(response.kind === 'upgrade' ? 101 : response.status);
      podRequests.add(trace);
      return response;
    };
    const fail = (error: unknown): never => {
      trace.end(error instanceof StatusError ? (error.status.code ?? 500) : 500, error);
      throw error;
    };
    try {
      const answer = handler(scope);
      return answer instanceof Promise ? answer.then(finish, fail) : finish(answer);
    } catch (error) {
      return fail(error);
    }
  };
}

/** Server-side apply creates too. */
function mayCreateOrBindPod({ verb, resource, subresource, apiGroup }: RequestInfo): boolean {
  if (resource !== 'pods' || apiGroup !== '') return false;
  if (verb === 'create') return subresource === '' || subresource === 'binding';
  return verb === 'patch' && subresource === '';
}
