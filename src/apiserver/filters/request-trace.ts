/** Follows the requests that create and bind pods, for the timelines of their starts. Other requests pass untouched. */
import type { ApiResponse } from '../../api/transport.ts';
import type { Clock } from '../../platform/clock.ts';
import type { RequestInfo } from '../request-context.ts';
import type { PodRequests } from '../tracing/pod-requests.ts';
import { RequestTrace } from '../tracing/request-trace.ts';
import type { Filter } from './filter.ts';

export interface RequestTraceFilterDeps {
  readonly clock: Clock;
  readonly podRequests: PodRequests;
}

export function withRequestTrace(deps: RequestTraceFilterDeps): Filter {
  return (handler) => (scope) => {
    if (!mayCreateOrBindPod(scope.info)) return handler(scope);
    const trace = new RequestTrace(deps.clock, scope.receivedMs);
    scope.trace = trace;
    const finish = (response: ApiResponse): ApiResponse => {
      trace.mark('answer');
      deps.podRequests.add(trace);
      return response;
    };
    const answer = handler(scope);
    return answer instanceof Promise ? answer.then(finish) : finish(answer);
  };
}

/** Server-side apply creates too. */
function mayCreateOrBindPod({ verb, resource, subresource, apiGroup }: RequestInfo): boolean {
  if (resource !== 'pods' || apiGroup !== '') return false;
  if (verb === 'create') return subresource === '' || subresource === 'binding';
  return verb === 'patch' && subresource === '';
}
