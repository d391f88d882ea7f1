/** Computes a route's changes of a request and its redirects. Pure. */
import type { PathChange, Redirect, Route, RouteFilters } from '../snapshot/snapshot.ts';
import type { RequestTarget } from './request-path.ts';

/** A target with the route that matched. */
export interface MatchedTarget extends RequestTarget {
  /** Host and port that the client requested. */
  readonly requestAuthority: string;
  readonly host: string;
  readonly isTls: boolean;
  /** The port of the listener. */
  readonly port: number;
}

/** Path and query after the rewrite. */
export function rewrittenTarget({ rewrite }: RouteFilters, route: Route, { path, query }: RequestTarget): string {
  return `${rewrite?.path === undefined ? path : changedPath(rewrite.path, route, path)}${query}`;
}

/** A replaced prefix includes its slash: with "/a" replaced by "/b", "/a/x" becomes "/b/x" and "/a" becomes "/b". */
function changedPath({ type, value }: PathChange, { match }: Route, path: string): string {
  if (type === 'full' || match.path.type === 'regex') return value;
  const prefix = match.path.value.replace(/\/$/, '');
  const rest = path.slice(prefix.length);
  const base = value.replace(/\/$/, '');
  if (rest === '' || rest === '/') return base === '' ? '/' : `${base}${rest}`;
  return `${base}${rest}`;
}

/** The value of `Location`. The default port of the scheme is left out. */
export function redirectLocation(redirect: Redirect, route: Route, target: MatchedTarget): string {
  const own = target.isTls ? 'https' : 'http';
  const scheme = redirect.scheme ?? own;
  const host = redirect.hostname ?? target.host;
  const port = redirect.port ?? (redirect.scheme === undefined ? target.port : wellKnown(scheme));
  const shown = port === wellKnown(scheme) ? '' : `:${port}`;
  const path = redirect.path === undefined ? target.path : changedPath(redirect.path, route, target.path);
  return `${scheme}://${host}${shown}${path}${target.query}`;
}

function wellKnown(scheme: 'http' | 'https'): number {
  return scheme === 'https' ? 443 : 80;
}
