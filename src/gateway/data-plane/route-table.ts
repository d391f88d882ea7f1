/**
 * Finds the route of a request. Hosts come first: the exact name, then wildcards from the longest to the shortest, then
 * routes without host; within a host the order of the snapshot, which the controller sorts. Upstream: the matching rules of
 * networking.k8s.io/v1 Ingress and of gateway.networking.k8s.io HTTPRoute.
 */
import { patternOf } from '../../api/json-schema/patterns.ts';
import type { Route, ValueMatch } from '../snapshot/snapshot.ts';
import { HostRoutes } from './host-routes.ts';
import { MatchWork } from './match-work.ts';

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
  /** But for its path where that is exact or a prefix. */
  readonly matches: (request: MatchedRequest, work: MatchWork) => boolean;
}

export class RouteTable {
  readonly #byHost = new Map<string, HostRoutes<CompiledRoute>>();
  /** The most labels behind the star of a wildcard. */
  #wildcardLabels = 0;

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const host = route.host.toLowerCase();
      if (host.startsWith('*.')) this.#wildcardLabels = Math.max(this.#wildcardLabels, host.split('.').length - 1);
      const ofHost = this.#byHost.get(host) ?? new HostRoutes();
      this.#byHost.set(host, ofHost);
      ofHost.add(route.match.path, { route, matches: compileMatch(route) });
    }
  }

  /** Says nothing once the work is spent. */
  find(request: MatchedRequest, work = new MatchWork()): Route | undefined {
    const ofHost = (host: string, isAllowed: (route: Route) => boolean): Route | undefined =>
      this.#byHost.get(host)?.find(request.path, ({ route, matches }) => isAllowed(route) && matches(request, work))
        ?.route;
    const exact = ofHost(request.host, () => true);
    if (exact !== undefined) return exact;
    const nearest = request.host.indexOf('.');
    for (const dot of this.#wildcardDots(request.host)) {
      const found = ofHost(
        `*${request.host.slice(dot)}`,
        ({ wildcardDepth }) => dot === nearest || wildcardDepth === 'many',
      );
      if (found !== undefined) return found;
    }
    return ofHost('', () => true);
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
}

function compileMatch({ match }: Route): CompiledRoute['matches'] {
  const path = match.path.type === 'regex' ? compilePattern(match.path.value) : () => true;
  const headers = (match.headers ?? []).map((one) => ({ name: one.name.toLowerCase(), test: compileValue(one) }));
  const params = (match.queryParams ?? []).map((one) => ({ name: one.name, test: compileValue(one) }));
  const { method } = match;
  return (request, work) => {
    if (method !== undefined && method !== request.method) return false;
    if (!path(request.path, work)) return false;
    for (const { name, test } of headers) {
      const value = request.header(name);
      if (value === undefined || !test(value, work)) return false;
    }
    return params.every(({ name, test }) => {
      const value = work.queryParams(request.query).get(name);
      return value !== null && test(value, work);
    });
  };
}

type TextTest = (text: string, work: MatchWork) => boolean;

function compileValue({ value, isRegex }: ValueMatch): TextTest {
  return isRegex === true ? compilePattern(value) : (text) => text === value;
}

/** Whether a text as a whole is of the pattern. One that is too long for the pattern's size, or no pattern at all, never is. */
function compilePattern(value: string): TextTest {
  const pattern = patternOf(`^(?:${value})$`);
  if ('error' in pattern) return () => false;
  const { longest } = pattern;
  return (text, work) => text.length <= longest && work.take(text.length / Math.max(1, longest)) && pattern.test(text);
}
