/**
 * The cookie of the console's sessions, and which requests may use it. A page of another origin can make a browser send
 * requests with cookies, but neither with a header of its own (the preflight request is refused) nor with another `Origin`.
 */
import { CONSOLE_COOKIE } from '../../component-helpers/streaming/console-cookie.ts';
import type { ApiRequest } from '../../api/transport.ts';

/** Lower case: the header that a request authenticated by cookie carries. */
export const CONSOLE_HEADER = 'x-keelson-console';

/** Longer cookie headers are not looked at. */
const MAX_COOKIES = 16_384;
const SESSION_ID = /^[\w-]{43}$/;

/** Host and port as the browser named them. */
export function hostOf({ headers }: ApiRequest): string {
  return headers['host'] ?? headers[':authority'] ?? '';
}

const HOST = /^(?:[\w.-]{1,253}|\[[\da-fA-F:.]{2,45}\])(?::\d{1,5})?$/;

/** The origin by which the browser came, as URLs have it; undefined when the Host header is none. */
export function ownOriginOf(request: ApiRequest): string | undefined {
  const url = `https://${hostOf(request)}`;
  return HOST.test(hostOf(request)) && URL.canParse(url) ? new URL(url).origin : undefined;
}

/** Browsers share cookies between the ports of a host: the name distinguishes the servers of one machine. */
export function cookieNameOf(request: ApiRequest): string {
  const port = /:(\d{1,5})$/.exec(hostOf(request))?.[1] ?? '443';
  return `${CONSOLE_COOKIE}-${port}`;
}

/** The cookie that binds a browser to the sign-in it began at an OpenID Connect issuer. */
export function signInCookieNameOf(request: ApiRequest): string {
  return `${cookieNameOf(request)}-oidc`;
}

/** The session that the request's cookie names, whether it may use it or not. */
export function sessionIdOf(request: ApiRequest): string | undefined {
  const id = cookieOf(request, cookieNameOf(request));
  return id !== undefined && SESSION_ID.test(id) ? id : undefined;
}

/** The cookie of a sign-in at an OpenID Connect issuer. */
export function signInCookieOf(request: ApiRequest): string | undefined {
  return cookieOf(request, signInCookieNameOf(request));
}

function cookieOf(request: ApiRequest, name: string): string | undefined {
  const cookies = request.headers['cookie'];
  if (cookies === undefined || cookies.length > MAX_COOKIES) return undefined;
  const start = `${name}=`;
  for (const pair of cookies.split(';')) {
    const trimmed = pair.trim();
    if (trimmed.startsWith(start)) return trimmed.slice(start.length);
  }
  return undefined;
}

/** Whether the console's own page sends the request, as far as browsers let a server know. */
export function isFromConsole(request: ApiRequest): boolean {
  const { headers } = request;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  const own = `https://${hostOf(request)}`;
  if (request.wantsUpgrade && headers['upgrade'] !== undefined)
    return headers['upgrade'].toLowerCase() === 'websocket' && headers['origin'] === own;
  return headers[CONSOLE_HEADER] === '1' && (headers['origin'] === undefined || headers['origin'] === own);
}
