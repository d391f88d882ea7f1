/**
 * Passes a request on to a pod, service or node and its answer back. Upstream: apimachinery util/proxy, registry/core/rest.
 *
 * Differs: request bodies are gathered before they are sent (32 MiB at most); redirects and links in pages go back as they
 * are, not rewritten to the proxy's path.
 */
import { requestEntityTooLarge } from '../../api/status-error.ts';
import type { ApiHeaders, ApiRequest, ApiResponse } from '../../api/transport.ts';
import { isUpgradeRequest, openTunnel } from '../../component-helpers/streaming/upgrade-tunnel.ts';
import { BodyTooLargeError } from '../../platform/http.ts';
import type { HttpAnswer, Net, TlsOptions } from '../../platform/net.ts';
import { dialError } from './backend-error.ts';

/** Where to, and as whom. */
export interface ProxyCall {
  readonly net: Net;
  readonly base: string;
  /** Raw path below the base, with its leading slash; '' when the client gave none. */
  readonly path: string;
  readonly tls: TlsOptions;
  /** Added to what the client sent, and instead of it. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

const maxBodyBytes = 32 * 1024 * 1024;
const hopHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'authorization',
  'expect',
]);

/** The path behind `/proxy` as the client wrote it; '' when there is nothing, not even a slash. */
export function pathBehindProxy(path: string): string {
  const match = /^\/api\/v1\/(?:namespaces\/[^/]+\/(?:pods|services)|nodes)\/[^/]+\/proxy(\/.*)?$/.exec(path);
  return match?.[1] ?? '';
}

/** Answers by the backend. Rejects with a StatusError when it cannot be reached. */
export async function proxyRequest(call: ProxyCall, request: ApiRequest): Promise<ApiResponse> {
  const query = request.query === '' ? '' : `?${request.query}`;
  const url = `${call.base}${call.path === '' ? '/' : call.path}${query}`;
  if (isUpgradeRequest(request.headers)) {
    try {
      return await openTunnel(call.net, {
        method: request.method,
        url,
        headers: request.headers,
        ...(call.headers === undefined ? {} : { added: call.headers }),
        tls: call.tls,
        signal: request.signal,
      });
    } catch (error) {
      throw dialError(error);
    }
  }
  if (call.path === '' && (request.method === 'GET' || request.method === 'HEAD')) {
    // Relative links of the page would lead beside it.
    return { kind: 'bytes', status: 301, headers: { location: `${request.path}/${query}` }, chunks: [] };
  }
  const body = await readBody(request);
  let answer: HttpAnswer;
  try {
    answer = await call.net.http({
      method: request.method,
      url,
      headers: { ...forwardedHeaders(request), ...call.headers },
      tls: call.tls,
      signal: request.signal,
      ...(body === undefined ? {} : { body }),
    });
  } catch (error) {
    throw dialError(error);
  }
  return streamAnswer(answer);
}

/** The answer as it comes. */
export function streamAnswer(answer: HttpAnswer): ApiResponse {
  return {
    kind: 'stream',
    status: answer.status,
    headers: returnedHeaders(answer.headers),
    async run(sink) {
      try {
        for await (const chunk of answer.body) await sink.write(chunk);
      } catch (error) {
        answer.cancel();
        throw error;
      }
    },
  };
}

function forwardedHeaders(request: ApiRequest): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (
      value === undefined ||
      hopHeaders.has(name) ||
      name.startsWith('impersonate-') ||
      name.startsWith('x-remote-') ||
      name.startsWith(':')
    )
      continue;
    headers[name] = value;
  }
  headers['x-forwarded-uri'] = request.path;
  headers['x-forwarded-host'] = request.headers['host'] ?? request.headers[':authority'] ?? '';
  headers['x-forwarded-proto'] = 'https';
  headers['x-forwarded-for'] = [request.headers['x-forwarded-for'], request.remoteAddress]
    .filter((text) => text !== undefined && text !== '')
    .join(', ');
  return headers;
}

function returnedHeaders(headers: Readonly<Record<string, string>>): ApiHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => name === 'content-length' || (!hopHeaders.has(name) && !name.startsWith('access-control-')),
    ),
  );
}

async function readBody(request: ApiRequest): Promise<Uint8Array | undefined> {
  const { body } = request;
  if (body.kind === 'none') return undefined;
  if (body.kind === 'object') return Buffer.from(JSON.stringify(body.object));
  try {
    const bytes = await body.read(maxBodyBytes);
    return bytes.byteLength === 0 ? undefined : bytes;
  } catch (error) {
    if (error instanceof BodyTooLargeError) throw requestEntityTooLarge(`limit of proxied bodies is ${maxBodyBytes}`);
    throw error;
  }
}
