/** Serves requests by the current snapshot: finds the route, applies its filters, chooses the backend. */
import type { Socket } from 'node:net';
import type { IncomingMessage } from 'node:http';
import type { Backends } from './backends/backends.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';
import type {
  Backend,
  MirrorTarget,
  Passthrough,
  Route,
  RouteFilters,
  Snapshot,
  WeightedBackend,
} from '../snapshot/snapshot.ts';
import { answerText, type Exchange } from './exchange.ts';
import { redirectLocation, rewrittenTarget, type MatchedTarget } from './filters.ts';
import { forward } from './forward.ts';
import { applyChanges, headerValues, requestLines, type HeaderLines } from './header-lines.ts';
import { Mirrors, type Mirror } from './mirror.ts';
import { hostOf, parseTarget } from './request-path.ts';
import { MatchWork } from './match-work.ts';
import type { StalledBodies } from './stalled-bodies.ts';
import { PatternTests } from './pattern-tests.ts';
import { RouteTable } from './route-table.ts';
import { passThrough, ServerNames, type Owner } from './tls-passthrough.ts';
import { forwardUpgrade, refuseUpgrade } from './upgrade.ts';
import { WeightedChoice } from './weighted-choice.ts';

export interface RouterDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly backends: Backends;
  readonly stalled: StalledBodies;
}

/** A request before its route is found. */
interface UnroutedRequest {
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  readonly headers: HeaderLines;
  readonly clientAddress: string;
  readonly isTls: boolean;
}

/** The result of routing: a response of the proxy itself, or a backend. */
type Decision =
  | { readonly kind: 'answer'; readonly status: number; readonly text: string }
  | { readonly kind: 'redirect'; readonly status: number; readonly location: string; readonly filters: RouteFilters }
  | {
      readonly kind: 'backend';
      readonly route: Route;
      readonly backend: Backend;
      readonly request: { readonly target: string; readonly authority: string; readonly headers: string[] };
      readonly responseHeaders: readonly RouteFilters['responseHeaders'][];
    };

export class Router {
  readonly #deps: RouterDeps;
  readonly #weights = new WeightedChoice();
  readonly #mirrors: Mirrors;
  #patterns = new PatternTests();
  #tables: ReadonlyMap<number, RouteTable> = new Map();
  #names: ReadonlyMap<number, ServerNames> = new Map();
  #backends: Snapshot['backends'] = {};
  /** The number of requests for each mirror of each object. */
  readonly #mirrored = new Map<string, number>();

  constructor(deps: RouterDeps) {
    this.#deps = deps;
    this.#mirrors = new Mirrors(deps.clock, deps.backends);
  }

  /** Replaces the snapshot for later requests; requests in progress keep theirs. */
  use(snapshot: Snapshot): void {
    this.#patterns = new PatternTests(this.#patterns);
    this.#tables = new Map(
      snapshot.listeners.map(({ port, routes }) => [port, new RouteTable(routes, this.#patterns)]),
    );
    this.#names = new Map(snapshot.listeners.map((listener) => [listener.port, new ServerNames(listener)]));
    this.#weights.use(snapshot.listeners.flatMap(({ routes, passthrough = [] }) => [...routes, ...passthrough]));
    this.#backends = snapshot.backends;
  }

  /** Whether TLS connections of the port may belong to TLSRoutes. */
  hasPassthrough(port: number): boolean {
    return this.#names.get(port)?.hasPassthrough === true;
  }

  /** The server of TLS connections for the name. */
  ownerOf(port: number, serverName: string): Owner {
    return this.#names.get(port)?.ownerOf(serverName);
  }

  /** Joins a connection with a backend of the route. */
  serveConnection(socket: Socket, route: Passthrough): void {
    const joined = passThrough(socket, route, { ...this.#deps, weights: this.#weights, known: this.#backends });
    background(this.#deps.log, 'a TLS connection could not be joined to its backend', joined);
  }

  serve(exchange: Exchange, port: number): void {
    const decision = this.#decide(exchange, port);
    if (decision.kind === 'answer') return answerText(exchange, decision.status, decision.text);
    if (decision.kind === 'redirect') return answerRedirect(exchange, decision);
    const mirrors = this.#startMirrors(exchange, decision);
    background(
      this.#deps.log,
      'a request could not be carried over',
      forward(this.#deps, { exchange, mirrors, ...decision }),
    );
  }

  /** Serves a request to switch protocols. */
  serveUpgrade(message: IncomingMessage, socket: Socket, head: Buffer, port: number): void {
    const unrouted = {
      method: message.method ?? 'GET',
      target: message.url ?? '/',
      authority: message.headers.host ?? '',
      headers: message.rawHeaders,
      clientAddress: socket.remoteAddress ?? '',
      isTls: 'encrypted' in socket,
    };
    const decision = this.#decide(unrouted, port);
    const { clock } = this.#deps;
    if (decision.kind === 'answer') return refuseUpgrade(socket, clock, decision);
    if (decision.kind === 'redirect') return refuseUpgrade(socket, clock, NO_REDIRECT);
    const { method, clientAddress } = unrouted;
    const protocol = message.headers.upgrade ?? '';
    background(
      this.#deps.log,
      'a connection could not be joined to its backend',
      forwardUpgrade(this.#deps, { socket, head, protocol, method, clientAddress, ...decision }),
    );
  }

  #decide(unrouted: UnroutedRequest, port: number): Decision {
    const target = parseTarget(unrouted.target, unrouted.method);
    const requestAuthority = target?.authority ?? unrouted.authority;
    const host = requestAuthority === '' ? '' : hostOf(requestAuthority);
    if (target === undefined || host === undefined) return MALFORMED;
    const { method, headers, isTls } = unrouted;
    let values: ReadonlyMap<string, string> | undefined;
    const header = (name: string): string | undefined => (values ??= headerValues(headers)).get(name);
    const work = new MatchWork();
    const route = this.#tables.get(port)?.find({ host, method, path: target.path, query: target.query, header }, work);
    if (work.isSpent) {
      this.#deps.log.warn('a request matches no route in time: too many routes are compared with it', { host, port });
      return TOO_MUCH_WORK;
    }
    if (route === undefined) return NOT_FOUND;
    const matched: MatchedTarget = { ...target, requestAuthority, host, isTls, port };
    const { redirect } = route.filters ?? {};
    if (redirect !== undefined)
      return {
        kind: 'redirect',
        status: redirect.status,
        location: redirectLocation(redirect, route, matched),
        filters: route.filters ?? {},
      };
    const weighted = this.#weights.choose(route);
    const backend = weighted === undefined ? undefined : this.#backends[weighted.backend];
    if (weighted === undefined || backend === undefined) return unavailable(route.emptyStatus);
    if (backend.endpoints.length === 0) return unavailable(503);
    return { kind: 'backend', route, backend, ...changedRequest(unrouted, { route, weighted, matched }) };
  }

  #startMirrors(exchange: Exchange, { route, request }: Extract<Decision, { kind: 'backend' }>): readonly Mirror[] {
    const mirrors: Mirror[] = [];
    for (const [index, mirror] of (route.filters?.mirrors ?? []).entries()) {
      const backend = this.#backends[mirror.backend];
      if (backend === undefined || !this.#isMirrored(`${route.source} ${index}`, mirror)) continue;
      const { method, hasBody, clientAddress } = exchange;
      const copy = { ...request, method, hasBody, takesTrailers: false, clientAddress };
      const started = this.#mirrors.start(backend, copy);
      if (started !== undefined) mirrors.push(started);
    }
    return mirrors;
  }

  /** Copies are distributed evenly, with one counter for each mirror. */
  #isMirrored(source: string, { backend, numerator, denominator }: MirrorTarget): boolean {
    const key = `${source} ${backend} ${numerator}/${denominator}`;
    const count = (this.#mirrored.get(key) ?? 0) % denominator;
    if (this.#mirrored.size > MAX_COUNTED_MIRRORS) this.#mirrored.clear();
    this.#mirrored.set(key, count + 1);
    return Math.floor(((count + 1) * numerator) / denominator) > Math.floor((count * numerator) / denominator);
  }
}

const MAX_COUNTED_MIRRORS = 10_000;

const NO_REDIRECT = { status: 404, text: 'a redirect switches no protocol' };
const MALFORMED: Decision = { kind: 'answer', status: 400, text: 'malformed request' };
const NOT_FOUND: Decision = { kind: 'answer', status: 404, text: 'no route for this host and path' };
const TOO_MUCH_WORK: Decision = { kind: 'answer', status: 503, text: 'too many routes are compared with the request' };

function unavailable(status: 500 | 503): Decision {
  const text = status === 500 ? 'the route has no backend' : 'the backend has no ready endpoints';
  return { kind: 'answer', status, text };
}

function answerRedirect(
  exchange: Exchange,
  { status, location, filters }: Extract<Decision, { kind: 'redirect' }>,
): void {
  const headers = applyChanges(['location', location, 'content-length', '0'], filters.responseHeaders);
  exchange.answer({ status, headers }, false).end([]);
}

/** The request in the form that its backend receives. */
function changedRequest(
  unrouted: UnroutedRequest,
  found: { readonly route: Route; readonly weighted: WeightedBackend; readonly matched: MatchedTarget },
): Pick<Extract<Decision, { kind: 'backend' }>, 'request' | 'responseHeaders'> {
  const { route, weighted, matched } = found;
  const filters = route.filters ?? {};
  let headers = requestLines(unrouted.headers);
  headers.push('x-forwarded-for', unrouted.clientAddress.replace(/^::ffff:(?=\d+\.)/, ''));
  headers.push('x-forwarded-proto', unrouted.isTls ? 'https' : 'http');
  headers.push('x-forwarded-host', matched.requestAuthority, 'x-forwarded-port', String(matched.port));
  headers = applyChanges(headers, filters.requestHeaders);
  headers = applyChanges(headers, weighted.filters?.requestHeaders);
  const rewrite = weighted.filters?.rewrite === undefined ? filters : weighted.filters;
  const target = rewrittenTarget(rewrite, route, matched);
  const authority = rewrite.rewrite?.hostname ?? matched.requestAuthority;
  return {
    request: { target, authority, headers },
    responseHeaders: [weighted.filters?.responseHeaders, filters.responseHeaders],
  };
}
