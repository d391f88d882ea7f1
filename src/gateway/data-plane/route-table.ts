/**
 * Finds the route of a request. Hosts come first: the exact name, then wildcards from the longest to the shortest, then
 * routes without host; within a host the order of the snapshot, which the controller sorts. Upstream: the matching rules of
 * networking.k8s.io/v1 Ingress and of gateway.networking.k8s.io HTTPRoute.
 */
import { patternOf } from '../../api/json-schema/patterns.ts';
import type { Route, ValueMatch } from '../snapshot/snapshot.ts';

/** What routes are matched against. */
export interface MatchedRequest {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** All values of a header, joined by commas; undefined when there is none. The name is in lower case. */
  header(name: string): string | undefined;
}

interface CompiledRoute {
  readonly route: Route;
  readonly matches: (request: MatchedRequest) => boolean;
}

export class RouteTable {
  readonly #byHost = new Map<string, CompiledRoute[]>();
  /** The most labels behind the star of a wildcard. */
  #wildcardLabels = 0;

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const host = route.host.toLowerCase();
      if (host.startsWith('*.')) this.#wildcardLabels = Math.max(this.#wildcardLabels, host.split('.').length - 1);
      const list = this.#byHost.get(host);
      const compiled = { route, matches: compileMatch(route) };
      if (list === undefined) this.#byHost.set(host, [compiled]);
      else list.push(compiled);
    }
  }

  find(request: MatchedRequest): Route | undefined {
    const exact = this.#ofHost(request.host, request, () => true);
    if (exact !== undefined) return exact;
    const nearest = request.host.indexOf('.');
    for (const dot of this.#wildcardDots(request.host)) {
      const found = this.#ofHost(
        `*${request.host.slice(dot)}`,
        request,
        ({ wildcardDepth }) => dot === nearest || wildcardDepth === 'many',
      );
      if (found !== undefined) return found;
    }
    return this.#ofHost('', request, () => true);
  }

  /** Where the part of a host begins that a wildcard may name, the longest first; no longer than those of any route. */
  #wildcardDots(host: string): readonly number[] {
    const dots: number[] = [];
    for (let end = host.length; end > 0 && dots.length < this.#wildcardLabels;) {
      end = host.lastIndexOf('.', end - 1);
      if (end >= 0) dots.push(end);
    }
    return dots.reverse();
  }

  #ofHost(host: string, request: MatchedRequest, isAllowed: (route: Route) => boolean): Route | undefined {
    return this.#byHost.get(host)?.find(({ route, matches }) => isAllowed(route) && matches(request))?.route;
  }
}

function compileMatch({ match }: Route): CompiledRoute['matches'] {
  const path = compilePath(match.path);
  const headers = (match.headers ?? []).map((one) => ({ name: one.name.toLowerCase(), test: compileValue(one) }));
  const params = (match.queryParams ?? []).map((one) => ({ name: one.name, test: compileValue(one) }));
  const { method } = match;
  if (headers.length === 0 && params.length === 0 && method === undefined) return (request) => path(request.path);
  return (request) => {
    if (method !== undefined && method !== request.method) return false;
    if (!path(request.path)) return false;
    for (const { name, test } of headers) {
      const value = request.header(name);
      if (value === undefined || !test(value)) return false;
    }
    if (params.length === 0) return true;
    const queryParams = new URLSearchParams(request.query);
    return params.every(({ name, test }) => {
      const value = queryParams.get(name);
      return value !== null && test(value);
    });
  };
}

function compilePath({ type, value }: Route['match']['path']): (path: string) => boolean {
  if (type === 'exact') return (path) => path === value;
  if (type === 'regex') {
    return compilePattern(value);
  }
  // "/a" and "/a/" are the same prefix, which "/ab" does not have.
  const prefix = value.endsWith('/') ? value.slice(0, -1) : value;
  if (prefix === '') return () => true;
  return (path) => path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/');
}

function compileValue({ value, isRegex }: ValueMatch): (text: string) => boolean {
  if (isRegex !== true) return (text) => text === value;
  return compilePattern(value);
}

/** Whether a text as a whole is of the pattern. One that is too long for the pattern's size, or no pattern at all, never is. */
function compilePattern(value: string): (text: string) => boolean {
  const pattern = patternOf(`^(?:${value})$`);
  if ('error' in pattern) return () => false;
  return (text) => text.length <= pattern.longest && pattern.test(text);
}
