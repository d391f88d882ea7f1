/** The head of an upgrade request, without headers that concern a single connection. */
import { badRequest } from '../../api/status-error.ts';
import { headerValueOf, isHeaderName, isHeaderValue } from '../../base/header-text.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpRequest } from '../../platform/http.ts';
import type { TlsOptions } from '../../platform/net.ts';
import { cookiesForBackend } from './console-cookie.ts';

/** The request to forward. */
export interface TunnelRequest {
  readonly method: string;
  /** http: or https:, with path and query. */
  readonly url: string;
  /** The client's headers, names in lower case; hop-by-hop headers are removed here. */
  readonly headers: HttpRequest['headers'];
  /** Values that replace the client's headers; `host` replaces the URL's. */
  readonly added?: Readonly<Record<string, string | readonly string[]>>;
  readonly tls?: TlsOptions;
  readonly signal: AbortSignal;
  /** Both connections are closed after this long without data in either direction. Absent: never. */
  readonly idle?: IdleLimit;
}

/** How long a joined pair may be silent. */
export interface IdleLimit {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  readonly timeoutMs: number;
}

const HOP_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'keep-alive',
  'authorization',
  'te',
  'trailer',
  'proxy-authorization',
  'proxy-connection',
]);

const BEARER_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/** Throws for what Go's net/http would not send: a line break in a name or value would begin a request of its own. */
export function requestHead(request: TunnelRequest, url: URL): Uint8Array {
  const { host = url.host, ...added } = request.added ?? {};
  if (!isHeaderName(request.method)) throw badRequest(`invalid method ${JSON.stringify(request.method)}`);
  const lines = [`${request.method} ${url.pathname}${url.search} HTTP/1.1`];
  const push = (name: string, value: string): void => {
    if (!isHeaderName(name)) throw badRequest(`invalid header name ${JSON.stringify(name)}`);
    if (!isHeaderValue(value)) throw badRequest(`invalid value of header ${name}`);
    lines.push(`${name}: ${value}`);
  };
  push('Host', [host].flat().join());
  push('Connection', 'Upgrade');
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || HOP_HEADERS.has(name) || name.startsWith('impersonate-') || name.startsWith('x-remote-'))
      continue;
    for (const line of headerLines(name, value)) push(name, line);
  }
  for (const [name, value] of Object.entries(added)) for (const line of [value].flat()) push(name, headerValueOf(line));
  if (request.method !== 'GET') push('Content-Length', '0');
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/**
 * Servers join repeated headers, but old runtimes compare whole lines. Tokens hidden among the protocols are removed
 * here.
 */
function headerLines(name: string, value: string): readonly string[] {
  if (name === 'cookie') return [cookiesForBackend(value) ?? []].flat();
  const parts = (): string[] => value.split(',').map((part) => part.trim());
  if (name === 'x-stream-protocol-version') return parts();
  if (name === 'sec-websocket-protocol')
    return [
      parts()
        .filter((part) => !part.startsWith(BEARER_PROTOCOL))
        .join(', '),
    ];
  return [value];
}
