/**
 * Filters for all requests of the network, outside authentication: other origins (CORS), strict
 * transport security, connections sent elsewhere, and the refusal of new requests at the end. Upstream:
 * server/filters/{cors,hsts,goaway,with_retry_after}.go.
 */
import { patternOf } from '../../api/json-schema/patterns.ts';
import { tooManyRequests } from '../../api/status-error.ts';
import type { HttpHandler, HttpHeaders, HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Random } from '../../platform/random.ts';
import type { HttpOptions } from '../command-line/http-options.ts';

/** The settings, and whether the server is about to end. */
export interface HttpFilters extends Pick<
  HttpOptions,
  'corsAllowedOrigins' | 'strictTransportSecurity' | 'goawayChance'
> {
  /** Called for each request; true rejects it with 429. */
  readonly refusesNew: () => boolean;
}

const RETRY_AFTER_SECONDS = 5;

/** Wraps the handler in what is set; the handler itself where nothing is. */
export function withHttpFilters(handler: HttpHandler, filters: HttpFilters, random: Random): HttpHandler {
  const { corsAllowedOrigins, strictTransportSecurity, goawayChance, refusesNew } = filters;
  let wrapped = handler;
  if (corsAllowedOrigins.length > 0) wrapped = withCors(wrapped, corsAllowedOrigins);
  wrapped = withRetryAfter(wrapped, refusesNew);
  if (strictTransportSecurity.length > 0) {
    const headers = { 'strict-transport-security': strictTransportSecurity.join('; ') };
    wrapped = withHeaders(wrapped, () => headers);
  }
  if (goawayChance > 0)
    wrapped = withHeaders(wrapped, ({ isHttp2 }) =>
      isHttp2 === true && random.next() < goawayChance ? { connection: 'close' } : undefined,
    );
  return wrapped;
}

/** Adds headers to answers; those of the answer itself win. */
function withHeaders(handler: HttpHandler, headersFor: (request: HttpRequest) => HttpHeaders | undefined): HttpHandler {
  return (request) => {
    const headers = headersFor(request);
    if (headers === undefined) return handler(request);
    const add = (response: HttpResponse): HttpResponse =>
      response.kind === 'upgrade' ? response : { ...response, headers: { ...headers, ...response.headers } };
    const response = handler(request);
    return response instanceof Promise ? response.then(add) : add(response);
  };
}

const CORS_HEADERS: HttpHeaders = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
};

function withCors(handler: HttpHandler, patterns: readonly string[]): HttpHandler {
  const tests = patterns.flatMap((text) => {
    const pattern = patternOf(text);
    return 'test' in pattern ? [pattern.test] : [];
  });
  const allowed = ({ headers: { origin = '' } }: HttpRequest): HttpHeaders | undefined =>
    origin !== '' && tests.some((test) => test(origin))
      ? { 'access-control-allow-origin': origin, ...CORS_HEADERS }
      : undefined;
  const rest = withHeaders(handler, allowed);
  return (request) => {
    if (request.method !== 'OPTIONS') return rest(request);
    const headers = allowed(request);
    // A browser sends a preflight request without credentials: it is not authenticated.
    return headers === undefined ? handler(request) : { kind: 'bytes', status: 204, headers, chunks: [] };
  };
}

/** Kubelets and load balancers probe health until the end. */
const ALWAYS_SERVED = /^\/(healthz|livez|readyz)(\/|$)/;

function withRetryAfter(handler: HttpHandler, refusesNew: () => boolean): HttpHandler {
  return (request) => (refusesNew() && !ALWAYS_SERVED.test(request.path) ? refusal() : handler(request));
}

function refusal(): HttpResponse {
  const { status } = tooManyRequests('The apiserver is shutting down, please try again later.', RETRY_AFTER_SECONDS);
  const body = Buffer.from(JSON.stringify(status));
  const headers = {
    'content-type': 'application/json',
    'retry-after': String(RETRY_AFTER_SECONDS),
    connection: 'close',
  };
  return { kind: 'bytes', status: 429, headers, chunks: [body] };
}
