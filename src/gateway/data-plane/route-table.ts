/**
 * Finds the route of a request. Hosts have precedence: the exact name, then wildcards from the longest to the shortest, then
 * routes without host; within a host the order of the snapshot, which the controller sorts. Upstream: the matching rules of
 * networking.k8s.io/v1 Ingress and of gateway.networking.k8s.io HTTPRoute.
 */
import { isBelow } from '../gateway-api/hostnames.ts';
import type { Route, ValueMatch } from '../snapshot/snapshot.ts';
import { HostRoutes } from './host-routes.ts';
import { MatchWork } from './match-work.ts';
import { PatternTests, type TextTest } from './pattern-tests.ts';

/** The parts of a request that routes are matched by. */
export interface MatchedRequest {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** All values of a header, joined by commas; undefined when it is absent. The name is in lower case. */
  header(name: string): string | undefined;
}

interface CompiledRoute {
  readonly route: Route;
  /** Checks all but an exact path or a prefix. */
  readonly matches: (request: MatchedRequest, work: MatchWork) => boolean;
}

export class RouteTable {
  readonly #byHost = new Map<string, HostRoutes<CompiledRoute>>();
  /** The maximum number of labels after the star of a wildcard. */
  #wildcardLabels = 0;

  constructor(routes: readonly Route[], patterns = new PatternTests()) {
    for (const route of routes) {
      const host = route.host.toLowerCase();
      if (host.startsWith('*.')) this.#wildcardLabels = Math.max(this.#wildcardLabels, host.split('.').length - 1);
      const ofHost = this.#byHost.get(host) ?? new HostRoutes();
      this.#byHost.set(host, ofHost);
      ofHost.add(route.match.path, { route, matches: compileMatch(route, patterns) });
    }
  }

  /** The result is meaningless once the work limit is exceeded. */
  find(request: MatchedRequest, work = new MatchWork()): Route | undefined {
    const isExcepted = excludes(request.host, work);
    const ofHost = (host: string, isAllowed: (route: Route) => boolean): Route | undefined =>
      this.#byHost
        .get(host)
        ?.find(
          request.path,
          ({ route, matches }) => isAllowed(route) && !isExcepted(route.except) && matches(request, work),
          work,
        )?.route;
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

  /** The dots of a host at which a wildcard may begin, for the longest first; at most as long as the longest wildcard. */
  #wildcardDots(host: string): readonly number[] {
    const dots: number[] = [];
    for (let end = host.length; end > 0 && dots.length < this.#wildcardLabels;) {
      end = host.lastIndexOf('.', end - 1);
      if (end >= 0) dots.push(end);
    }
    return dots.reverse();
  }
}

/** Whether the host is among the names and wildcards of a list. Routes share lists, so each is checked once. */
function excludes(host: string, work: MatchWork): (names: readonly string[] | undefined) => boolean {
  const exclusions = new Map<readonly string[], boolean>();
  return (names) => {
    if (names === undefined) return false;
    let isExcluded = exclusions.get(names);
    if (isExcluded === undefined) {
      isExcluded = work.compare(names.length) && names.some((name) => name === host || isBelow(host, name));
      exclusions.set(names, isExcluded);
    }
    return isExcluded;
  };
}

/** Routes share the tests of their patterns. */
function compileMatch({ match }: Route, patterns: PatternTests): CompiledRoute['matches'] {
  const compileValue = ({ value, isRegex }: ValueMatch): TextTest =>
    isRegex === true ? patterns.of(value) : (text) => text === value;
  const path = match.path.type === 'regex' ? patterns.of(match.path.value) : () => true;
  const headers = (match.headers ?? []).map((one) => ({ name: one.name.toLowerCase(), test: compileValue(one) }));
  const params = (match.queryParams ?? []).map((one) => ({ name: one.name, test: compileValue(one) }));
  const { method } = match;
  return (request, work) => {
    if (method !== undefined && method !== request.method) return false;
    if (!path(request.path, work)) return false;
    for (const { name, test } of headers) {
      const value = request.header(name);
      if (value === undefined || !work.compare(1) || !test(value, work)) return false;
    }
    for (const { name, test } of params) {
      const value = work.queryParams(request.query).get(name);
      if (value === undefined || !work.compare(1) || !test(value, work)) return false;
    }
    return true;
  };
}
