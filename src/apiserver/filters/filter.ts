/** Filters and handlers, the elements of the handler chain. Upstream: http.Handler and the With… functions of apiserver's filters. */
import type { ApiResponse } from '../../api/transport.ts';
import type { RequestScope } from '../request-scope.ts';

/** Synchronous where nothing must be waited for: a cached GET is answered in the same turn of the event loop. */
export type Answer = ApiResponse | Promise<ApiResponse>;

/** Answers a request. What it throws or rejects with becomes a Status. */
export type Handler = (scope: RequestScope) => Answer;

/** Puts a step before, after or around a handler. */
export type Filter = (handler: Handler) => Handler;
