/**
 * Pages of backends behind proxy paths have the API server's origin. When the console is enabled, a sandbox policy
 * makes browsers treat them as another origin: their scripts can neither read the API nor use the console's sessions.
 */
import { forbidden } from '../../api/status-error.ts';
import type { ApiHeaders, ApiRequest } from '../../api/transport.ts';
import { ORIGIN_HEADERS } from '../../component-helpers/streaming/origin-headers.ts';

/** Without `allow-same-origin`. Windows opened by such a page have the same policy. */
const SANDBOX = 'sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts';

const FROM_BROWSER = ['sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site', 'service-worker'];

/**
 * Whether the request comes from a browser connected to this server directly or through a proxy with the same origin.
 * All kinds of loads count: a response cached as an image may be shown as a page later. Old browsers send no fetch
 * metadata, but request pages as HTML.
 */
export function isLoadOfBrowser(request: ApiRequest): boolean {
  const { headers } = request;
  if (isOfLocalProxy(request)) return false;
  return FROM_BROWSER.some((name) => headers[name] !== undefined) || (headers['accept'] ?? '').includes('text/html');
}

/**
 * Whether the request comes through `kubectl proxy`, which shows pages at an origin of its own and adds its user's
 * credentials. A browser sends no bearer token and no `X-Forwarded-For` when it opens a page; a TLS proxy before this
 * server has no certificate of a user.
 */
function isOfLocalProxy({ headers, peerCertificate }: ApiRequest): boolean {
  return (
    headers['authorization'] !== undefined ||
    (peerCertificate !== undefined && headers['x-forwarded-for'] !== undefined)
  );
}

/** Throws 403 for the script of a service worker, which could intercept the browser's requests to the server. */
export function refuseServiceWorker({ headers }: ApiRequest): void {
  if (headers['service-worker'] === undefined && headers['sec-fetch-dest'] !== 'serviceworker') return;
  throw forbidden({ group: '', resource: '' }, '', 'service workers cannot be loaded through the API server');
}

/** The headers of a backend's response with the policy added, and without those that affect the whole origin. */
export function isolatedHeaders(headers: ApiHeaders): ApiHeaders {
  const own = headers['content-security-policy'] ?? [];
  return {
    ...Object.fromEntries(Object.entries(headers).filter(([name]) => !ORIGIN_HEADERS.has(name))),
    'content-security-policy': [...(typeof own === 'string' ? [own] : own), SANDBOX],
  };
}
