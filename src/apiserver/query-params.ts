/** The query parameters of a request, parsed before authentication. */
import { badRequest } from '../api/status-error.ts';

/** Commands of exec are the longest lists: a parameter for each argument. Upstream: Go's net/url has 10,000. */
const MAX_PARAMS = 1000;

/** The parameters of a request without a query; shared, never changed. */
export const noParams = new URLSearchParams();

/** Throws 400 for too many parameters. */
export function queryParams(query: string): URLSearchParams {
  if (query === '') return noParams;
  let count = 1;
  for (let at = query.indexOf('&'); at >= 0; at = query.indexOf('&', at + 1))
    if (++count > MAX_PARAMS) throw badRequest(`too many query parameters: ${MAX_PARAMS} at most`);
  return new URLSearchParams(query);
}
