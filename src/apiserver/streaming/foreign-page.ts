/**
 * Pages of backends behind proxy paths come from the API server's own origin. Where the console is on, browsers run them as
 * an origin of their own: their scripts read nothing of the API and hold none of the console's sessions.
 */
import { forbidden } from '../../api/status-error.ts';
import type { ApiHeaders, ApiRequest } from '../../api/transport.ts';
import { ORIGIN_HEADERS } from '../../component-helpers/streaming/origin-headers.ts';

/** Without `allow-same-origin`. Windows that such a page opens are under the same policy. */
const SANDBOX = 'sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts';

const FROM_BROWSER = ['sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site', 'service-worker'];

/**
 * Whether a browser asks that is connected to this server itself, or through what shares its origin. Whatever it loads counts:
 * an answer that is cached for an image may be shown as a page later. Old browsers send no fetch metadata, but ask pages as HTML.
 */
export function isLoadOfBrowser(request: ApiRequest): boolean {
  const { headers } = request;
  if (isOfLocalProxy(request)) return false;
  return FROM_BROWSER.some((name) => headers[name] !== undefined) || (headers['accept'] ?? '').includes('text/html');
}

/**
 * `kubectl proxy` shows its pages at an origin of its own and adds its user's credentials. A browser sends no bearer token when
 * it opens a page, and no `X-Forwarded-For`; what ends TLS before this server has no certificate of a user.
 */
function isOfLocalProxy({ headers, peerCertificate }: ApiRequest): boolean {
  return (
    headers['authorization'] !== undefined ||
    (peerCertificate !== undefined && headers['x-forwarded-for'] !== undefined)
  );
}

/** Throws 403 for the script of a service worker, which would stand between the browser and the server. */
export function refuseServiceWorker({ headers }: ApiRequest): void {
  if (headers['service-worker'] === undefined && headers['sec-fetch-dest'] !== 'serviceworker') return;
  throw forbidden({ group: '', resource: '' }, '', 'service workers cannot be loaded through the API server');
}

/** The headers of a backend's answer with the policy beside those it has, and without those that concern the whole origin. */
export function isolatedHeaders(headers: ApiHeaders): ApiHeaders {
  const own = headers['content-security-policy'] ?? [];
  return {
    ...Object.fromEntries(Object.entries(headers).filter(([name]) => !ORIGIN_HEADERS.has(name))),
    'content-security-policy': [...(typeof own === 'string' ? [own] : own), SANDBOX],
  };
}
