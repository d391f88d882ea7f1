/** The time limit of a request. Upstream: endpoints/filters.WithRequestDeadline. */
import { parseDurationMs } from '../../api/duration.ts';
import { badRequest } from '../../api/status-error.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Filter } from './filter.ts';
import { isLongRunning } from './max-in-flight.ts';

/** Sets the requested timeout, at most `requestTimeoutMs`; long-running requests have none. Throws 400. */
export function withRequestDeadline({ requestTimeoutMs }: { readonly requestTimeoutMs: number }): Filter {
  return (handler) => (scope) => {
    if (!isLongRunning(scope)) scope.timeoutMs = timeoutMsOf(scope, requestTimeoutMs);
    return handler(scope);
  };
}

function timeoutMsOf({ params }: RequestScope, requestTimeoutMs: number): number {
  const text = params.get('timeout');
  if (text === null) return requestTimeoutMs;
  const askedMs = parseDurationMs(text);
  if (askedMs === undefined)
    throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`);
  return askedMs <= 0 ? requestTimeoutMs : Math.min(askedMs, requestTimeoutMs);
}
