/**
 * The path and query an aggregated server gets: such that it reads what was authorized here. Go unescapes the path before
 * it splits it and drops pairs of a query it cannot read; URLs of Node.js resolve `..` and turn backslashes.
 */
import { noSuchPath } from '../../api/status-error.ts';
import type { RequestScope } from '../request-scope.ts';

const PLAIN_PATH = /^[\w/.~!$&'()*+,;=:@-]*$/;
/** What Go's url.ParseQuery and URLSearchParams read differently. */
const AMBIGUOUS_QUERY = /;|%(?![0-9a-f]{2})/i;

/** Throws 404 for a path that names nothing, and for one that leads elsewhere. */
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
