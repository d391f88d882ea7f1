/** Converts matches of HTTPRoute and GRPCRoute to those of the data plane, with their rank. */
import { patternOf } from '../../api/json-schema/patterns.ts';
import type { PathMatch, RouteMatch, ValueMatch } from '../snapshot/snapshot.ts';
import { UnsupportedValueError } from './route-filters.ts';
import type { GatewayRoute, GrpcMatch, HttpMatch, NamedMatch, RouteRule } from './types.ts';

export interface RankedMatch {
  readonly match: RouteMatch;
  /** Compared from the left; the greater rank has precedence. */
  readonly rank: readonly number[];
}

const [EXACT, REGEX, PREFIX, METHOD_ALONE] = [3, 2, 1, 0];

/** Upstream's order: exact paths, the longest prefix, a method, the most headers, the most query parameters. */
export function httpMatch({ path, headers, queryParams, method }: HttpMatch): RankedMatch {
  const value = path?.value ?? '/';
  const type = path?.type ?? 'PathPrefix';
  const converted: PathMatch =
    type === 'Exact'
      ? { type: 'exact', value }
      : type === 'PathPrefix'
        ? { type: 'prefix', value }
        : { type: 'regex', value: checkPattern(value) };
  const [headerMatches, paramMatches] = [values(headers, true), values(queryParams, false)];
  return {
    match: { path: converted, method, headers: headerMatches, queryParams: paramMatches },
    rank: [
      type === 'Exact' ? EXACT : type === 'PathPrefix' ? PREFIX : REGEX,
      value.length,
      method === undefined ? 0 : 1,
      headerMatches.length,
      paramMatches.length,
    ],
  };
}

/** A gRPC call is a POST to `/SERVICE/METHOD`. */
export function grpcMatch({ method, headers }: GrpcMatch): RankedMatch {
  const { type = 'Exact', service = '', method: name = '' } = method ?? {};
  const headerMatches = values(headers, true);
  const { path, tier } = grpcPath(type, service, name);
  return {
    match: { path, method: 'POST', headers: headerMatches },
    rank: [tier, service.length, name.length, headerMatches.length],
  };
}

function grpcPath(type: string, service: string, name: string): { readonly path: PathMatch; readonly tier: number } {
  if (service === '' && name === '') return { path: { type: 'prefix', value: '/' }, tier: PREFIX };
  if (type !== 'Exact') {
    const part = (pattern: string): string => (pattern === '' ? '[^/]+' : `(?:${checkPattern(pattern)})`);
    const value = `/${part(service)}/${part(name)}`;
    return { path: { type: 'regex', value }, tier: service === '' ? METHOD_ALONE : REGEX };
  }
  if (name === '') return { path: { type: 'prefix', value: `/${service}` }, tier: PREFIX };
  if (service === '') return { path: { type: 'regex', value: `/[^/]+/${name}` }, tier: METHOD_ALONE };
  return { path: { type: 'exact', value: `/${service}/${name}` }, tier: EXACT };
}

/** As upstream, only the first entry of each name counts. */
function values(matches: readonly NamedMatch[] | undefined, ignoresCase: boolean): ValueMatch[] {
  const found = new Map<string, ValueMatch>();
  for (const { type = 'Exact', name, value } of matches ?? []) {
    const key = ignoresCase ? name.toLowerCase() : name;
    if (found.has(key)) continue;
    const isRegex = type === 'RegularExpression';
    found.set(key, { name, value: isRegex ? checkPattern(value) : value, isRegex });
  }
  return [...found.values()];
}

/** Compiled patterns are remembered: snapshots are built often. */
function checkPattern(pattern: string): string {
  const compiled = patternOf(pattern);
  if ('error' in compiled) throw new UnsupportedValueError(`${pattern}: ${compiled.error}`);
  return pattern;
}

/** All patterns of a route's matches. */
export function patternsOf({ spec }: GatewayRoute): string[] {
  const patterns: string[] = [];
  const add = (type: string | undefined, text: string | undefined): void => {
    if (type === 'RegularExpression' && text !== undefined) patterns.push(text);
  };
  for (const { matches = [] } of (spec.rules ?? []) as readonly RouteRule<HttpMatch & GrpcMatch>[])
    for (const { path, headers = [], queryParams = [], method } of matches as readonly (HttpMatch & GrpcMatch)[]) {
      add(path?.type, path?.value);
      for (const { type, value } of [...headers, ...queryParams]) add(type, value);
      const { type, service, method: name } = (method ?? {}) as NonNullable<GrpcMatch['method']>;
      add(type, service);
      add(type, name);
    }
  return patterns;
}
