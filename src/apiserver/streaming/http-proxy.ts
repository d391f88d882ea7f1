/**
 * Forwards a request to a pod, service or node and streams the response back; redirects and links in pages are
 * rewritten to the proxy's path. Upstream: apimachinery util/proxy, registry/core/rest.
 *
 * Differs: pages to be rewritten are requested uncompressed, where upstream decompresses and recompresses them.
 */
import { stringifyJson } from '../../api/codec/json.ts';
import { headerValueOf } from '../../base/header-text.ts';
import { serviceUnavailable } from '../../api/status-error.ts';
import type { ApiHeaders, ApiRequest, ApiResponse } from '../../api/transport.ts';
import { isUpgradeRequest, openTunnel } from '../../component-helpers/streaming/upgrade-tunnel.ts';
import type { HttpAnswer, HttpCall, Net, TlsOptions } from '../../platform/net.ts';
import { isProgramError } from '../../platform/unexpected.ts';
import { dialError } from './backend-error.ts';
import { cookiesForBackend, cookiesOfBackend } from '../../component-helpers/streaming/console-cookie.ts';
import { isLoadOfBrowser, isolatedHeaders, refuseServiceWorker } from './foreign-page.ts';
import { type PagePlace, seenAddress, seenPage } from './proxied-page.ts';

/** The destination, and the user. */
export interface ProxyCall {
  readonly net: Net;
  readonly base: string;
  /** Raw path below the base, with its leading slash; '' when the client gave none. */
  readonly path: string;
  readonly tls: TlsOptions;
  /** Headers that are added to the client's and replace those of the same name. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** The path up to `/proxy`, to which pages and redirects are rewritten. Absent: they are not rewritten. */
  readonly seenAt?: string;
  /** Whether redirects become 502: clients would follow them with their credentials (CVE-2022-3172). */
  readonly rejectsRedirects?: boolean;
  /** Whether browsers must treat the backend's pages as another origin. */
  readonly isolatesPages?: boolean;
}

const HOP_HEADERS = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'host',
  'content-length',
  'authorization',
  'expect',
]);

/** The client's path behind `/proxy`; '' when there is nothing, not even a slash. */
export function pathBehindProxy(path: string): string {
  const match = /^\/api\/v1\/(?:namespaces\/[^/]+\/(?:pods|services)|nodes)\/[^/]+\/proxy(\/.*)?$/.exec(path);
  return match?.[1] ?? '';
}

/** Forwards the request. Rejects with a StatusError when the backend cannot be reached. */
export async function proxyRequest(call: ProxyCall, request: ApiRequest): Promise<ApiResponse> {
  const isolates = call.isolatesPages === true && isLoadOfBrowser(request);
  if (isolates) refuseServiceWorker(request);
  const query = request.query === '' ? '' : `?${request.query}`;
  const url = `${call.base}${call.path === '' ? '/' : call.path}${query}`;
  // Over HTTP/2, and where a server ignores the header (`h2c`), it does not ask for an upgrade.
  if (request.wantsUpgrade && isUpgradeRequest(request.headers)) {
    try {
      const tunnel = await openTunnel(call.net, {
        method: request.method,
        url,
        headers: request.headers,
        added: call.headers,
        tls: call.tls,
        signal: request.signal,
      });
      if (!(call.rejectsRedirects === true && tunnel.kind === 'stream' && isRedirect(tunnel.status))) return tunnel;
      tunnel.dispose();
      return redirectRefused();
    } catch (error) {
      throw dialError(error);
    }
  }
  if (call.path === '' && (request.method === 'GET' || request.method === 'HEAD')) {
    // Without the slash, relative links of the page would be resolved above it.
    return { kind: 'bytes', status: 301, headers: { location: `${request.path}/${query}` }, chunks: [] };
  }
  const body = bodyOf(request);
  const place = call.seenAt === undefined ? undefined : { origin: originOf(request), prefix: call.seenAt, source: url };
  let answer: HttpAnswer;
  try {
    answer = await call.net.http({
      method: request.method,
      url,
      headers: {
        ...forwardedHeaders(request),
        ...(place && asksForPage(request) && UNPACKED),
        ...encoded(call.headers),
      },
      tls: call.tls,
      signal: request.signal,
      body,
    });
  } catch (error) {
    if (isProgramError(error)) throw error;
    throw serviceUnavailable(`error trying to reach service: ${(error as Error).message}`);
  }
  if (call.rejectsRedirects === true && isRedirect(answer.status) && (answer.headers['location'] ?? '') !== '') {
    answer.cancel();
    return redirectRefused();
  }
  try {
    const passed = streamAnswer(answer, place);
    return isolates ? { ...passed, headers: isolatedHeaders(passed.headers) } : passed;
  } catch (error) {
    answer.cancel();
    throw error;
  }
}

function encoded(headers: ProxyCall['headers'] = {}): Record<string, string | readonly string[]> {
  const byName = Object.entries(headers).map(
    ([name, value]) => [name, typeof value === 'string' ? headerValueOf(value) : value.map(headerValueOf)] as const,
  );
  return Object.fromEntries(byName);
}

const isRedirect = (status: number): boolean => status >= 300 && status <= 399;

/** Upstream's words. */
function redirectRefused(): ApiResponse {
  const text = 'the backend attempted to redirect this request, which is not permitted';
  return { kind: 'bytes', status: 502, headers: {}, chunks: [Buffer.from(text)] };
}

const UNPACKED = { 'accept-encoding': 'identity' };

const asksForPage = ({ headers }: ApiRequest): boolean => (headers['accept'] ?? '').includes('text/html');

const originOf = ({ headers }: ApiRequest): string => `https://${headers['host'] ?? headers[':authority'] ?? ''}`;

function streamAnswer(answer: HttpAnswer, place: PagePlace | undefined): Extract<ApiResponse, { kind: 'stream' }> {
  const headers: Record<string, string | readonly string[]> = { ...returnedHeaders(answer) };
  const { location } = answer.headers;
  if (place !== undefined && location !== undefined) headers['location'] = seenAddress(location, place);
  const isPage = /^text\/html\b/i.test(answer.headers['content-type'] ?? '');
  const isPlain = ['', 'identity'].includes(answer.headers['content-encoding'] ?? '');
  const rewrites = place !== undefined && isPage && isPlain;
  if (rewrites) delete headers['content-length'];
  const chunks = rewrites ? seenPage(answer.body, place) : answer.body;
  return {
    kind: 'stream',
    status: answer.status,
    headers,
    async run(sink) {
      try {
        for await (const chunk of chunks) await sink.write(chunk);
      } catch (error) {
        answer.cancel();
        throw error;
      }
    },
  };
}

/** Upstream: httputil.ReverseProxy, which also drops the headers that `Connection` names. */
function forwardedHeaders(request: ApiRequest): Record<string, string> {
  const headers: Record<string, string> = {};
  const named = new Set((request.headers['connection'] ?? '').split(',').map((name) => name.trim().toLowerCase()));
  for (const [name, value] of Object.entries(request.headers)) {
    if (
      value === undefined ||
      HOP_HEADERS.has(name) ||
      named.has(name) ||
      name.startsWith('impersonate-') ||
      name.startsWith('x-remote-') ||
      name.startsWith(':')
    )
      continue;
    headers[name] = value;
  }
  keepConsoleCookie(headers);
  // The body is streamed, but its length may be known.
  const { 'content-length': length } = request.headers;
  if (length !== undefined && request.body.kind === 'bytes') headers['content-length'] = length;
  headers['x-forwarded-uri'] = request.path;
  headers['x-forwarded-host'] = request.headers['host'] ?? request.headers[':authority'] ?? '';
  headers['x-forwarded-proto'] = 'https';
  headers['x-forwarded-for'] = [request.headers['x-forwarded-for'], request.remoteAddress]
    .filter((text) => text !== undefined && text !== '')
    .join(', ');
  return headers;
}

function keepConsoleCookie(headers: Record<string, string>): void {
  const { cookie } = headers;
  if (cookie === undefined) return;
  const kept = cookiesForBackend(cookie);
  if (kept === undefined) delete headers['cookie'];
  else headers['cookie'] = kept;
}

function returnedHeaders({ headers, setCookie }: HttpAnswer): ApiHeaders {
  const remaining = Object.entries(headers).filter(
    ([name]) => name === 'content-length' || (!HOP_HEADERS.has(name) && !name.startsWith('access-control-')),
  );
  return { ...Object.fromEntries(remaining), ...(setCookie && { 'set-cookie': cookiesOfBackend(setCookie) }) };
}

/** The body in its original chunks, with its length if known. */
function bodyOf({ body, headers }: ApiRequest): HttpCall['body'] | undefined {
  if (body.kind === 'object') return Buffer.from(stringifyJson(body.object));
  if (body.kind === 'none') return undefined;
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  const isThere =
    length === undefined ? encoding !== undefined || headers[':method'] !== undefined : Number(length) > 0;
  return isThere ? body.stream() : undefined;
}
