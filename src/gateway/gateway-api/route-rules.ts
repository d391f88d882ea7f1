/** The rules of a route as routes of the data plane, with what its references lead to. */
import type { Stored } from '../../api/object.ts';
import { parseDurationMs } from '../../api/duration.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { ServiceBackends } from '../snapshot/service-backend.ts';
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
/** Stands for a reference that leads nowhere: its share of requests gets 500. */
const NOWHERE = '';

/** A route of the data plane but for its hosts. All matches of a rule share its object. */
export interface RankedRoute {
  readonly rule: SharedRule;
  readonly match: RouteMatch;
  readonly rank: readonly number[];
}

export interface ConvertedRoute {
  readonly routes: readonly RankedRoute[];
  /** Where the connections of a TLSRoute go. */
  readonly passthrough?: Omit<Passthrough, 'host'>;
  readonly backends: Readonly<Record<string, Backend>>;
  /** Services that it leads to by HTTP, by namespace and name. */
  readonly services: ReadonlySet<string>;
  readonly resolvedRefs: NewCondition;
  /** Why none of it is served. */
  readonly refusal?: { readonly reason: string; readonly message: string };
}

export interface RouteContext {
  readonly services: ServiceBackends;
  readonly grants: readonly ReferenceGrant[];
  readonly policies: Pick<BackendTlsPolicies, 'find'>;
}

export function convertRoute(kind: RouteKind, object: Stored<GatewayRoute>, context: RouteContext): ConvertedRoute {
  const converting = new Conversion(kind, object, context);
  if (kind === 'TLSRoute') return converting.passthrough();
  try {
    const routes = (object.spec.rules ?? []).flatMap((rule) => converting.rule(rule as RouteRule<never>));
    const { backends, services } = converting;
    return { routes, backends, services, resolvedRefs: converting.resolvedRefs() };
  } catch (error) {
    if (!(error instanceof UnsupportedValueError)) throw error;
    const refusal = { reason: 'UnsupportedValue', message: error.message };
    return { routes: [], backends: {}, services: new Set(), resolvedRefs: converting.resolvedRefs(), refusal };
  }
}

class Conversion {
  readonly backends: Record<string, Backend> = {};
  /** Those whose policies hold for the route, by namespace and name. */
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

  passthrough(): ConvertedRoute {
    const { metadata, spec } = this.#object;
    const references = (spec.rules ?? []).flatMap(({ backendRefs = [] }) => backendRefs);
    const backends = references.map(({ weight = 1, ...reference }) => ({ backend: this.#backend(reference), weight }));
    const source = `${this.#kind} ${namespaceOf(this.#object)}/${metadata.name}`;
    const resolvedRefs = this.resolvedRefs();
    const { services } = this;
    return { routes: [], passthrough: { source, backends }, backends: this.backends, services, resolvedRefs };
  }

  /** Throws `UnsupportedValueError`. */
  rule({ matches, filters, backendRefs, timeouts }: RouteRule<HttpMatch & GrpcMatch>): RankedRoute[] {
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
      // One backend is asked at a time, so that the shorter limit holds for all of it.
      requestTimeoutMs: Math.min(request || backendRequest, backendRequest || request),
    };
    const convert: (match: HttpMatch & GrpcMatch) => RankedMatch = this.#kind === 'HTTPRoute' ? httpMatch : grpcMatch;
    const all = matches === undefined || matches.length === 0 ? [{}] : matches;
    return all.map(convert).map(({ match, rank }) => ({ rule, match, rank }));
  }

  /** The key of a backend, or `NOWHERE`. */
  #backend({ group = '', kind = 'Service', namespace: named, name, port }: BackendReference): string {
    const own = namespaceOf(this.#object);
    const namespace = named ?? own;
    if (group !== '' || kind !== 'Service')
      return this.#unresolved('InvalidKind', `${kind} ${name} is no Service; only Services are served`);
    const from = { group: GROUP, kind: this.#kind, namespace: own };
    if (!isGranted(this.#context.grants, { from, to: { group, kind, namespace, name } }))
      return this.#unresolved('RefNotPermitted', `no ReferenceGrant of namespace ${namespace} allows service ${name}`);
    const resolved = this.#context.services.resolve({ namespace, name, port: { number: port } });
    if (resolved.problem !== undefined) return this.#unresolved(resolved.problem.reason, resolved.problem.message);
    const { key, backend, portName } = resolved;
    if (this.#kind === 'TLSRoute') return this.#add(key, backend);
    this.services.add(`${namespace}/${name}`);
    const isHttp2 = backend.protocol === 'h2c' || (this.#kind === 'GRPCRoute' && backend.protocol === 'http');
    const policy = this.#context.policies.find(namespace, name, portName);
    if (policy === undefined)
      return isHttp2 ? this.#add(`${key} h2c`, { ...backend, protocol: 'h2c' }) : this.#add(key, backend);
    const { verification } = policy;
    // The policy says what is wrong; nothing is sent to a backend that it does not let verify.
    if (verification === undefined) return NOWHERE;
    const protocol = isHttp2 ? 'h2' : 'https';
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

/** What its references name, by namespace and name, whether or not it is there. */
export function servicesNamedBy({ metadata, spec }: Stored<GatewayRoute>): ReadonlySet<string> {
  const mirrorsOf = (filters: readonly RouteFilter[] = []): BackendReference[] =>
    filters.flatMap(({ requestMirror }) => (requestMirror === undefined ? [] : [requestMirror.backendRef]));
  const references = (spec.rules ?? []).flatMap(({ backendRefs = [], filters }): BackendReference[] => [
    ...backendRefs,
    ...mirrorsOf(filters),
  ]);
  return new Set(references.map(({ namespace = metadata.namespace, name }) => `${namespace}/${name}`));
}

/** 0: none. */
function timeoutOf(text: string | undefined): number {
  return text === undefined ? 0 : (parseDurationMs(text) ?? 0);
}
