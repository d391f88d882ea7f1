/**
 * The routes of Ingress objects in upstream's order: within a host exact paths precede prefixes, longer prefixes shorter ones,
 * then the older object. A default backend gets the requests without a matching path, first of its hosts, finally of all.
 * `ImplementationSpecific` is treated as `Prefix`.
 */
import type { HTTPIngressPath, Ingress, IngressBackend } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import { parseDurationMs } from '../../api/duration.ts';
import { sortSteps } from '../../base/sort-steps.ts';
import { StepMeter, type Steps } from '../../base/steps.ts';
import type { RouteProblems } from '../snapshot/route-problems.ts';
import type { ServiceBackends } from '../snapshot/service-backend.ts';
import type { Backend, PathMatch } from '../snapshot/snapshot.ts';
import type { PlannedRoute, RouteRule } from '../snapshot/snapshot-plan.ts';

/** The timeout until a backend's response begins, such as `120s`; `0s` for none. */
const TIMEOUT_ANNOTATION = 'keelson.dev/response-timeout';
/** As nginx's proxy_read_timeout. */
const RESPONSE_TIMEOUT_MS = 60_000;

export interface IngressRoutes {
  /** Not yet sorted among those of other ingresses. */
  readonly ranked: readonly RankedRoute[];
  readonly backends: Readonly<Record<string, Backend>>;
}

export interface RankedRoute {
  readonly route: PlannedRoute;
  /** 0: paths; 1: default backends of their own hosts; 2: default backends of all hosts. */
  readonly level: number;
}

/** Paths, and endpoints of their services, that are worked on in one step. */
const WORK_PER_STEP = 10_000;

/** The routes of one ingress, in steps. All paths to one backend share its rule. */
export function* routesOfIngress(
  ingress: Stored<Ingress>,
  services: ServiceBackends,
  problems: RouteProblems,
): Steps<IngressRoutes> {
  const { rules = [], defaultBackend } = ingress.spec ?? {};
  const converting = new Conversion(ingress, services, problems);
  const ranked: RankedRoute[] = [];
  const meter = new StepMeter(WORK_PER_STEP);
  for (const { host = '', http } of rules) {
    const hosts = [host];
    for (const path of http?.paths ?? []) {
      const before = services.work;
      const rule = converting.ruleOf(path.backend);
      ranked.push({ level: 0, route: { rule, match: { path: pathMatch(path) }, hosts } });
      if (meter.endsStep(1 + services.work - before)) yield;
    }
  }
  if (defaultBackend !== undefined) {
    const match = { path: { type: 'prefix', value: '/' } } as const;
    const rule = converting.ruleOf(defaultBackend);
    const hosts = [...new Set(rules.map(({ host = '' }) => host).filter((host) => host !== ''))];
    if (hosts.length > 0) ranked.push({ level: 1, route: { rule, match, hosts } });
    ranked.push({ level: 2, route: { rule, match, hosts: [''] } });
  }
  return { ranked, backends: converting.backends };
}

class Conversion {
  readonly backends: Record<string, Backend> = {};
  readonly #namespace: string;
  readonly #base: Omit<RouteRule, 'backends'>;
  readonly #services: ServiceBackends;
  readonly #problems: RouteProblems;
  /** By the key of the backend; '' for paths without one. */
  readonly #rules = new Map<string, RouteRule>();

  constructor({ metadata }: Stored<Ingress>, services: ServiceBackends, problems: RouteProblems) {
    const { namespace = '', name, annotations } = metadata;
    this.#namespace = namespace;
    this.#services = services;
    this.#problems = problems;
    this.#base = {
      source: `Ingress ${namespace}/${name}`,
      wildcardDepth: 'one',
      emptyStatus: 503,
      responseTimeoutMs: this.#responseTimeoutMs(annotations?.[TIMEOUT_ANNOTATION]),
    };
  }

  ruleOf(backend: IngressBackend): RouteRule {
    const key = this.#backend(backend);
    const backends = key === '' ? [] : [{ backend: key, weight: 1 }];
    const rule = this.#rules.get(key) ?? { ...this.#base, backends };
    this.#rules.set(key, rule);
    return rule;
  }

  #responseTimeoutMs(timeout: string | undefined): number {
    if (timeout === undefined) return RESPONSE_TIMEOUT_MS;
    const timeoutMs = parseDurationMs(timeout);
    if (timeoutMs !== undefined && timeoutMs >= 0) return timeoutMs;
    const message = `${TIMEOUT_ANNOTATION}: ${timeout} is not a duration such as 120s`;
    this.#problems.add({ reason: 'InvalidAnnotation', message });
    return timeoutMs ?? RESPONSE_TIMEOUT_MS;
  }

  /** The key of a backend, or ''. */
  #backend({ service, resource }: IngressBackend): string {
    if (service === undefined) {
      const message = `backend ${resource?.kind ?? ''} ${resource?.name ?? ''} is no service; only services are served`;
      this.#problems.add({ reason: 'UnsupportedBackend', message });
      return '';
    }
    const resolved = this.#services.resolve(
      { namespace: this.#namespace, name: service.name, port: service.port ?? {} },
      this.#namespace,
    );
    if (resolved.problem !== undefined) {
      this.#problems.add(resolved.problem);
      return '';
    }
    this.backends[resolved.key] = resolved.backend;
    return resolved.key;
  }
}

/** Sorts the routes of ingresses, which are passed the oldest first. */
export function* sortedRoutes(ranked: readonly RankedRoute[]): Steps<PlannedRoute[]> {
  const sorted = yield* sortSteps(
    ranked,
    (a, b) => a.level - b.level || byPath(a.route.match.path, b.route.match.path),
  );
  return sorted.map(({ route }) => route);
}

function byPath(a: PathMatch, b: PathMatch): number {
  if (a.type !== b.type) return a.type === 'exact' ? -1 : 1;
  return lengthOf(b) - lengthOf(a);
}

/** The length without a trailing slash: "/a/" and "/a" are one prefix. */
function lengthOf({ type, value }: PathMatch): number {
  return type === 'prefix' && value.endsWith('/') ? value.length - 1 : value.length;
}

function pathMatch({ path = '', pathType }: HTTPIngressPath): PathMatch {
  return { type: pathType === 'Exact' ? 'exact' : 'prefix', value: path === '' ? '/' : path };
}
