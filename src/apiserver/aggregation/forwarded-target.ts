/**
 * The path and query to send to an aggregated server, such that it reads them exactly as they were authorized here.
 * Go unescapes the path before splitting it and drops query pairs that it cannot parse; URLs of Node.js resolve `..`
 * and change backslashes.
 */
import { noSuchPath } from '../../api/status-error.ts';
import type { RequestScope } from '../request-scope.ts';

const PLAIN_PATH = /^[\w/.~!$&'()*+,;=:@-]*$/;
/** Queries that Go's url.ParseQuery and URLSearchParams read differently. */
const AMBIGUOUS_QUERY = /;|%(?![0-9a-f]{2})/i;

/** Throws 404 for a path without a target, and for one that would be read differently. */
export function forwardedTarget({ info, request, params }: RequestScope): {
  readonly path: string;
  readonly query: string;
} {
  if (info.isResourceRequest && info.resource === '') throw noSuchPath();
  const isPlain = PLAIN_PATH.test(request.path);
  const segments = (isPlain ? request.path : decodeURIComponent(request.path)).split('/');
  if (segments.includes('..') || segments.includes('.')) throw noSuchPath();
  const path = isPlain ? request.path : segments.map(encodeURIComponent).join('/');
  const query = AMBIGUOUS_QUERY.test(request.query) ? params.toString() : request.query;
  return { path, query };
}
