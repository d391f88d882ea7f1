/** Converts the rules of a route to routes of the data plane, and resolves their references. */
import type { Stored } from '../../api/object.ts';
import { appendAll } from '../../base/lists.ts';
import type { Steps } from '../../base/steps.ts';
import { parseDurationMs } from '../../api/duration.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { ResolvedBackend, ServiceBackends } from '../snapshot/service-backend.ts';
import type { Backend, Passthrough, RouteMatch, WeightedBackend } from '../snapshot/snapshot.ts';
import type { RouteRule as SharedRule } from '../snapshot/snapshot-plan.ts';
import type { BackendTlsPolicies } from './backend-tls-policies.ts';
import { condition, type NewCondition } from './conditions.ts';
import { isGranted } from './reference-grants.ts';
import { convertBackendFilters, convertFilters, UnsupportedValueError } from './route-filters.ts';
import { grpcMatch, httpMatch, type RankedMatch } from './route-matches.ts';
import type {
  BackendReference,
  GatewayRoute,
  GrpcMatch,
  HttpMatch,
  ReferenceGrant,
  RouteFilter,
  RouteKind,
  RouteRule,
} from './types.ts';

const GROUP = 'gateway.networking.k8s.io';
/** The key of an unresolved reference, whose share of requests gets 500. */
const NOWHERE = '';

/** A route of the data plane without hosts. All matches of a rule share its object. */
export interface RankedRoute {
  readonly rule: SharedRule;
  readonly match: RouteMatch;
  readonly rank: readonly number[];
}

export interface ConvertedRoute {
  readonly routes: readonly RankedRoute[];
  /** The backends of a TLSRoute's connections, at listeners that pass TLS through and at those that terminate it. */
  readonly connections: readonly Omit<Passthrough, 'host'>[];
  readonly backends: Readonly<Record<string, Backend>>;
  /** Services that it refers to by HTTP, by namespace and name. */
  readonly services: ReadonlySet<string>;
  readonly resolvedRefs: NewCondition;
  /** The reason why nothing of the route is served. */
  readonly refusal?: { readonly reason: string; readonly message: string };
}

export interface RouteContext {
  readonly services: ServiceBackends;
  readonly grants: readonly ReferenceGrant[];
  readonly policies: Pick<BackendTlsPolicies, 'find'>;
}

/** The modes of the listeners that serve a TLSRoute. */
export interface TlsModes {
  readonly isPassed: boolean;
  readonly isTerminated: boolean;
}

/** Converts a TLSRoute for these modes. */
export function convertTlsRoute(object: Stored<GatewayRoute>, modes: TlsModes, context: RouteContext): ConvertedRoute {
  return new Conversion('TLSRoute', object, context).connections(modes);
}

/** One step for each match. */
export function* convertRoute(
  kind: Exclude<RouteKind, 'TLSRoute'>,
  object: Stored<GatewayRoute>,
  context: RouteContext,
): Steps<ConvertedRoute> {
  const converting = new Conversion(kind, object, context);
  try {
    const routes: RankedRoute[] = [];
    for (const rule of object.spec.rules ?? []) {
      appendAll(routes, yield* converting.rule(rule as RouteRule<never>));
      yield;
    }
    const { backends, services } = converting;
    return { routes, connections: [], backends, services, resolvedRefs: converting.resolvedRefs() };
  } catch (error) {
    if (!(error instanceof UnsupportedValueError)) throw error;
    const refusal = { reason: 'UnsupportedValue', message: error.message };
    const resolvedRefs = converting.resolvedRefs();
    return { routes: [], connections: [], backends: {}, services: new Set(), resolvedRefs, refusal };
  }
}

interface FoundBackend extends Pick<Extract<ResolvedBackend, { key: string }>, 'key' | 'backend' | 'portName'> {
  readonly namespace: string;
  readonly name: string;
}

class Conversion {
  readonly backends: Record<string, Backend> = {};
  /** Services whose policies apply to the route, by namespace and name. */
  readonly services = new Set<string>();
  readonly #kind: RouteKind;
  readonly #object: Stored<GatewayRoute>;
  readonly #context: RouteContext;
  #problem: { readonly reason: string; readonly message: string } | undefined;

  constructor(kind: RouteKind, object: Stored<GatewayRoute>, context: RouteContext) {
    this.#kind = kind;
    this.#object = object;
    this.#context = context;
  }

  resolvedRefs(): NewCondition {
    const problem = this.#problem;
    if (problem === undefined) return condition('ResolvedRefs', true, 'ResolvedRefs', 'all references are resolved');
    return condition('ResolvedRefs', false, problem.reason, problem.message);
  }

  connections({ isPassed, isTerminated }: TlsModes): ConvertedRoute {
    const { metadata, spec } = this.#object;
    const references = (spec.rules ?? []).flatMap(({ backendRefs = [] }) => backendRefs);
    const source = `${this.#kind} ${namespaceOf(this.#object)}/${metadata.name}`;
    const to = (find: (resolved: FoundBackend) => string) =>
      references.map(({ weight = 1, ...reference }) => ({ backend: this.#find(reference, find), weight }));
    const connections: Omit<Passthrough, 'host'>[] = [];
    // Unresolved references are reported even when no listener accepts the route.
    if (isPassed || !isTerminated)
      connections.push({ source, backends: to(({ key, backend }) => this.#add(key, backend)) });
    if (isTerminated)
      connections.push({
        source,
        isTerminated,
        backends: to((foundBackend) => this.#behindPolicy(foundBackend, 'none')),
      });
    const { backends, services } = this;
    return { routes: [], connections, backends, services, resolvedRefs: this.resolvedRefs() };
  }

  /** Throws `UnsupportedValueError`. */
  *rule({ matches, filters, backendRefs, timeouts }: RouteRule<HttpMatch & GrpcMatch>): Steps<RankedRoute[]> {
    const namespace = namespaceOf(this.#object);
    const { name } = this.#object.metadata;
    const mirror = (reference: BackendReference): string | undefined => this.#backend(reference) || undefined;
    const backends = (backendRefs ?? []).map(({ weight = 1, filters: own, ...reference }): WeightedBackend => ({
      backend: this.#backend(reference),
      weight,
      filters: convertBackendFilters(own),
    }));
    const [request, backendRequest] = [timeoutOf(timeouts?.request), timeoutOf(timeouts?.backendRequest)];
    const rule: SharedRule = {
      source: `${this.#kind} ${namespace}/${name}`,
      wildcardDepth: 'many',
      filters: convertFilters(filters, mirror),
      backends,
      emptyStatus: 500,
      // Requests go to one backend at a time, so the shorter limit applies to the whole request.
      requestTimeoutMs: Math.min(request || backendRequest, backendRequest || request),
    };
    const convert: (match: HttpMatch & GrpcMatch) => RankedMatch = this.#kind === 'HTTPRoute' ? httpMatch : grpcMatch;
    const all = matches === undefined || matches.length === 0 ? [{}] : matches;
    const routes: RankedRoute[] = [];
    for (const one of all) {
      if (routes.length > 0) yield;
      routes.push({ rule, ...convert(one) });
    }
    return routes;
  }

  /** The key of an HTTP backend, or `NOWHERE`. */
  #backend(reference: BackendReference): string {
    return this.#find(reference, (foundBackend) => {
      const { protocol } = foundBackend.backend;
      const isHttp2 = protocol === 'h2c' || (this.#kind === 'GRPCRoute' && protocol === 'http');
      return this.#behindPolicy(foundBackend, isHttp2 ? 'h2' : 'http');
    });
  }

  #find(
    { group = '', kind = 'Service', namespace: named, name, port }: BackendReference,
    find: (resolved: FoundBackend) => string,
  ): string {
    const own = namespaceOf(this.#object);
    const namespace = named ?? own;
    if (group !== '' || kind !== 'Service')
      return this.#unresolved('InvalidKind', `${kind} ${name} is no Service; only Services are served`);
    const from = { group: GROUP, kind: this.#kind, namespace: own };
    if (!isGranted(this.#context.grants, { from, to: { group, kind, namespace, name } }))
      return this.#unresolved('RefNotPermitted', `no ReferenceGrant of namespace ${namespace} allows service ${name}`);
    const resolved = this.#context.services.resolve({ namespace, name, port: { number: port } }, own);
    if (resolved.problem !== undefined) return this.#unresolved(resolved.problem.reason, resolved.problem.message);
    return find({ ...resolved, namespace, name });
  }

  /**
   * The backend by TLS when a policy requires it. `spoken` is the protocol inside TLS; undefined passes the client's bytes on.
   */
  #behindPolicy({ key, backend, portName, namespace, name }: FoundBackend, spoken: 'http' | 'h2' | 'none'): string {
    this.services.add(`${namespace}/${name}`);
    const policy = this.#context.policies.find(namespace, name, portName);
    if (policy === undefined)
      return spoken === 'h2' ? this.#add(`${key} h2c`, { ...backend, protocol: 'h2c' }) : this.#add(key, backend);
    const { verification } = policy;
    // The policy reports the fault; nothing is sent to a backend that cannot be verified.
    if (verification === undefined) return NOWHERE;
    const protocol = spoken === 'h2' ? 'h2' : 'https';
    return this.#add(`${key} ${protocol}`, { ...backend, protocol, verification });
  }

  #add(key: string, backend: Backend): string {
    this.backends[key] = backend;
    return key;
  }

  #unresolved(reason: string, message: string): string {
    this.#problem ??= {
      reason: reason === 'UnsupportedBackend' ? 'UnsupportedProtocol' : reason,
      message,
    };
    return NOWHERE;
  }
}

/** The services that its references name, by namespace and name, existing or not. */
export function servicesNamedBy({ metadata, spec }: Stored<GatewayRoute>): ReadonlySet<string> {
  const mirrorsOf = (filters: readonly RouteFilter[] = []): BackendReference[] =>
    filters.flatMap(({ requestMirror }) => (requestMirror === undefined ? [] : [requestMirror.backendRef]));
  const references = (spec.rules ?? []).flatMap(({ backendRefs = [], filters }): BackendReference[] => [
    ...backendRefs,
    ...mirrorsOf(filters),
  ]);
  return new Set(references.map(({ namespace = metadata.namespace, name }) => `${namespace}/${name}`));
}

/** 0 for no timeout. */
function timeoutOf(text: string | undefined): number {
  return text === undefined ? 0 : (parseDurationMs(text) ?? 0);
}
