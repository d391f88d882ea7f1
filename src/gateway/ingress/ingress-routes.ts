/**
 * The routes of Ingress objects, in upstream's order: within a host exact paths before prefixes, longer prefixes before
 * shorter ones, then the older object. A default backend takes what no path of its hosts does, and at last everything.
 * `ImplementationSpecific` is as `Prefix`.
 */
import type { HTTPIngressPath, Ingress, IngressBackend } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import { parseDurationMs } from '../../api/duration.ts';
import type { Backend, PathMatch, Route } from '../snapshot/snapshot.ts';
import type { ClusterView, RouteProblem } from '../snapshot/cluster-view.ts';
import { resolveService } from '../snapshot/service-backend.ts';

/** How long a backend may take until its answer begins, e.g. `120s`; `0s`: as long as it likes. */
const TIMEOUT_ANNOTATION = 'keelson.dev/response-timeout';
/** As nginx's proxy_read_timeout. */
const RESPONSE_TIMEOUT_MS = 60_000;

export interface IngressRoutes {
  readonly routes: readonly Route[];
  readonly backends: Readonly<Record<string, Backend>>;
  readonly problems: readonly RouteProblem[];
}

interface RankedRoute {
  readonly route: Route;
  /** 0 paths, 1 default backend of own hosts, 2 of all. */
  readonly level: number;
}

/** The routes of one ingress, not yet sorted among those of others. */
export function routesOfIngress(
  ingress: Stored<Ingress>,
  view: ClusterView,
): IngressRoutes & { readonly ranked: readonly RankedRoute[] } {
  const { namespace = '', name, annotations } = ingress.metadata;
  const problems: RouteProblem[] = [];
  const backends: Record<string, Backend> = {};
  const timeout = annotations?.[TIMEOUT_ANNOTATION];
  const responseTimeoutMs = timeout === undefined ? RESPONSE_TIMEOUT_MS : parseDurationMs(timeout);
  if (responseTimeoutMs === undefined || responseTimeoutMs < 0)
    problems.push({
      reason: 'InvalidAnnotation',
      message: `${TIMEOUT_ANNOTATION}: ${timeout} is not a duration such as 120s`,
    });
  const base = {
    source: `Ingress ${namespace}/${name}`,
    wildcardDepth: 'one',
    emptyStatus: 503,
    responseTimeoutMs: responseTimeoutMs ?? RESPONSE_TIMEOUT_MS,
  } as const;
  const backendsOf = ({ service, resource }: IngressBackend): Route['backends'] => {
    if (service === undefined) {
      const message = `backend ${resource?.kind ?? ''} ${resource?.name ?? ''} is no service; only services are served`;
      problems.push({ reason: 'UnsupportedBackend', message });
      return [];
    }
    const resolved = resolveService({ namespace, name: service.name, port: service.port ?? {} }, view);
    if (resolved.problem !== undefined) {
      problems.push(resolved.problem);
      return [];
    }
    backends[resolved.key] = resolved.backend;
    return [{ backend: resolved.key, weight: 1 }];
  };
  const { rules = [], defaultBackend } = ingress.spec ?? {};
  const ranked: RankedRoute[] = rules.flatMap(({ host = '', http }) =>
    (http?.paths ?? []).map((path) => ({
      level: 0,
      route: { ...base, host, match: { path: pathMatch(path) }, backends: backendsOf(path.backend) },
    })),
  );
  if (defaultBackend !== undefined) {
    const match = { path: { type: 'prefix', value: '/' } } as const;
    const own = backendsOf(defaultBackend);
    const hosts = new Set(rules.map(({ host = '' }) => host).filter((host) => host !== ''));
    for (const host of hosts) ranked.push({ level: 1, route: { ...base, host, match, backends: own } });
    ranked.push({ level: 2, route: { ...base, host: '', match, backends: own } });
  }
  return { ranked, routes: ranked.map(({ route }) => route), backends, problems };
}

/** Sorts the routes of ingresses, which come the oldest first. */
export function sortedRoutes(ranked: readonly RankedRoute[]): Route[] {
  return ranked
    .toSorted((a, b) => a.level - b.level || byPath(a.route.match.path, b.route.match.path))
    .map(({ route }) => route);
}

/** The oldest first, as upstream breaks ties; then by name. */
export function byAge(a: Stored<Ingress>, b: Stored<Ingress>): number {
  const key = ({ metadata }: Stored<Ingress>): string =>
    `${metadata.creationTimestamp ?? ''} ${metadata.namespace}/${metadata.name}`;
  return key(a) < key(b) ? -1 : 1;
}

function byPath(a: PathMatch, b: PathMatch): number {
  if (a.type !== b.type) return a.type === 'exact' ? -1 : 1;
  return lengthOf(b) - lengthOf(a);
}

/** "/a/" and "/a" are one prefix. */
function lengthOf({ type, value }: PathMatch): number {
  return type === 'prefix' && value.endsWith('/') ? value.length - 1 : value.length;
}

function pathMatch({ path = '', pathType }: HTTPIngressPath): PathMatch {
  return { type: pathType === 'Exact' ? 'exact' : 'prefix', value: path === '' ? '/' : path };
}
