/** Validation of a webhook's address. Upstream: apiserver/pkg/util/webhook/validation.go. */
import { parseGoUrl } from '../../base/go-url.ts';
import type { Field } from '../field-error.ts';
import { isDns1123Subdomain } from '../names.ts';
import { isPortNumber } from '../value-formats.ts';

/** The address of a webhook: a URL or a service. */
export interface WebhookClient {
  url?: string;
  service?: { name: string; namespace: string; path?: string; port?: number };
}

const FORM = 'desired format: https://host[/path]';

function validateUrl(text: string, place: Field): void {
  const url = parseGoUrl(text);
  if (typeof url === 'string') return place.required(`url must be a valid URL: ${url}; ${FORM}`);
  if (url.scheme !== 'https') place.invalid(url.scheme, `'https' is the only allowed URL scheme; ${FORM}`);
  if (url.host === '') place.invalid(url.host, `host must be specified; ${FORM}`);
  if (url.user !== undefined) place.invalid(url.user, 'user information is not permitted in the URL');
  if (url.fragment !== '') place.invalid(url.fragment, 'fragments are not permitted in the URL');
  if (url.query !== '') place.invalid(url.query, 'query parameters are not permitted in the URL');
}

/** Exactly one of URL and service must be set, and it must be valid. */
export function validateWebhookClient(client: WebhookClient, field: Field): void {
  if ((client.url === undefined) === (client.service === undefined)) {
    return field.required('exactly one of url or service is required');
  }
  if (client.url !== undefined) return validateUrl(client.url, field.at('url'));
  const service = client.service!;
  const place = field.at('service');
  // As upstream, a missing namespace is reported at the name.
  if ((service.namespace ?? '') === '') place.at('name').required();
  if ((service.name ?? '') === '') place.at('namespace').required();
  if (service.port !== undefined && isPortNumber(service.port).length > 0)
    place.at('port').invalid(service.port, `port is not valid: ${isPortNumber(service.port).join(', ')}`);
  if (service.path !== undefined) validatePath(service.path, place.at('path'));
}

/** An empty path is the root. As upstream, the first character of a path without a slash is not checked. */
function validatePath(path: string, place: Field): void {
  if (path === '' || path === '/') return;
  if (path === '//') return place.invalid(path, 'segment[0] may not be empty');
  if (!path.startsWith('/')) place.invalid(path, `must start with a '/'`);
  for (const [index, step] of path.slice(1).replace(/\/$/, '').split('/').entries()) {
    if (step === '') place.invalid(path, `segment[${index}] may not be empty`);
    else for (const why of isDns1123Subdomain(step)) place.invalid(path, `segment[${index}]: ${why}`);
  }
}
