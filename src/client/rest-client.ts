/**
 * The client over HTTPS: JSON both ways, watch streams decoded line by line, bearer tokens or client certificates.
 * Upstream: client-go rest. Differs on purpose: no client-side rate limit; the server's fairness decides.
 */
import { stringifyJson } from '../api/codec/json.ts';
import { asRead } from '../api/codec/written-form.ts';
import { headerValueOf } from '../base/header-text.ts';
import type { Clock } from '../platform/clock.ts';
import type { HttpAnswer, HttpCall, Net, TlsOptions } from '../platform/net.ts';
import type { Client, WatchEvent } from './client.ts';
import { decodeErrorBody, errorOfAnswer } from './answer-error.ts';
import { createTransportClient, type ClientTransport, type TransportRequest } from './transport-client.ts';
import { decodeWatchLines } from './watch-decoder.ts';

/** Gives bearer tokens; asked before every request, so it caches. */
export interface TokenSource {
  token(): Promise<string>;
  /** Forgets the last token, which the server refused. */
  invalidate?(): void;
}

/** The server's address and the client's credentials. */
export interface RestClientDeps {
  readonly net: Net;
  readonly clock: Clock;
  /** Base URL, e.g. `https://127.0.0.1:6443`. A path prefix is kept. */
  readonly server: string;
  readonly tls?: TlsOptions;
  /** Takes precedence over `tls`: asked before every request, so that certificates may be rotated. */
  readonly tlsSource?: () => Promise<TlsOptions>;
  readonly token?: string;
  /** Takes precedence over `token`. */
  readonly tokenSource?: TokenSource;
  readonly basicAuth?: { readonly username: string; readonly password: string };
  readonly userAgent: string;
  /** Acts as this user (impersonation headers). */
  readonly impersonate?: { readonly user: string; readonly groups?: readonly string[] };
  /** Time to an answer's head. Default 32 s, upstream's; watches and streams are not limited after it. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 32_000;

/** Makes a client for a server on the network. Nothing is connected before the first call. */
export function createRestClient(deps: RestClientDeps): Client {
  return createTransportClient(createRestTransport(deps), deps.clock);
}

function createRestTransport(deps: RestClientDeps): ClientTransport {
  const base = deps.server.replace(/\/+$/, '');

  async function toCall(request: TransportRequest): Promise<HttpCall> {
    const bytes = request.body instanceof Uint8Array ? request.body : undefined;
    const body = bytes ?? (request.body === undefined ? undefined : stringifyJson(request.body));
    const headers = {
      'user-agent': deps.userAgent,
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(await authHeaders(deps)),
      ...request.headers,
    };
    const tls = deps.tlsSource === undefined ? deps.tls : await deps.tlsSource();
    return {
      method: request.method,
      url: `${base}${request.path}${request.query === '' ? '' : `?${request.query}`}`,
      headers,
      headTimeoutMs: deps.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      body,
      tls,
      signal: request.signal,
    };
  }

  /** Sends once; a 401 drops the cached token and tries once more with a fresh one. */
  async function send(request: TransportRequest): Promise<HttpAnswer> {
    request.signal?.throwIfAborted();
    const answer = await deps.net.http(await toCall(request));
    if (answer.status !== 401 || deps.tokenSource?.invalidate === undefined) return answer;
    answer.cancel();
    deps.tokenSource.invalidate();
    return await deps.net.http(await toCall(request));
  }

  return {
    async call(request) {
      const answer = await send(request);
      const bytes = await readAll(answer.body);
      if (answer.status >= 400)
        return { status: answer.status, headers: answer.headers, object: decodeErrorBody(bytes) };
      return {
        status: answer.status,
        headers: answer.headers,
        object: asRead(JSON.parse(Buffer.from(bytes).toString('utf8')) as unknown),
      };
    },
    watch: (request) => watchOverHttp(() => send(request), deps.clock),
    async raw(request) {
      const answer = await send(request);
      return { status: answer.status, headers: answer.headers, body: await readAll(answer.body) };
    },
    async upgrade(request) {
      const answer = await deps.net.upgrade(await toCall(request));
      if ('socket' in answer) return answer.socket;
      throw errorOfAnswer(answer.status >= 400 ? answer.status : 400, decodeErrorBody(await readAll(answer.body)));
    },
  };
}

async function authHeaders(deps: RestClientDeps): Promise<Record<string, string>> {
  const headers: Record<string, string> = {};
  const token = deps.tokenSource === undefined ? deps.token : await deps.tokenSource.token();
  if (token !== undefined && token !== '') headers['authorization'] = `Bearer ${token}`;
  else if (deps.basicAuth !== undefined) {
    const { username, password } = deps.basicAuth;
    headers['authorization'] = `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
  }
  if (deps.impersonate !== undefined) {
    headers['impersonate-user'] = headerValueOf(deps.impersonate.user);
    const groups = deps.impersonate.groups ?? [];
    if (groups.length > 1) throw new Error('impersonating several groups is not supported by this client');
    if (groups[0] !== undefined) headers['impersonate-group'] = headerValueOf(groups[0]);
  }
  return headers;
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
}

async function* watchOverHttp(
  send: () => Promise<HttpAnswer>,
  clock: Clock,
): AsyncGenerator<readonly WatchEvent<unknown>[]> {
  const answer = await send();
  if (answer.status >= 400) throw errorOfAnswer(answer.status, decodeErrorBody(await readAll(answer.body)));
  try {
    yield* decodeWatchLines(answer.body, clock);
  } finally {
    answer.cancel();
  }
}
