/** How a webhook is reached. Upstream: apiserver/pkg/util/webhook/validation.go. */
import type { Field } from '../field-error.ts';
import { isDns1123Subdomain, isPortNumber } from '../names.ts';

/** Address of a webhook: a URL or a service. */
export interface WebhookClient {
  url?: string;
  service?: { name: string; namespace: string; path?: string; port?: number };
}

const FORM = 'desired format: https://host[/path]';

function validateUrl(text: string, field: Field): void {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    field.at('url').required(`url must be a valid URL: parse ${JSON.stringify(text)}: invalid URI; ${FORM}`);
    return;
  }
  const place = field.at('url');
  if (url.protocol !== 'https:')
    place.invalid(url.protocol.slice(0, -1), `'https' is the only allowed URL scheme; ${FORM}`);
  if (url.host === '') place.invalid(url.host, `host must be specified; ${FORM}`);
  if (url.username !== '' || url.password !== '')
    place.invalid(url.username, 'user information is not permitted in the URL');
  if (url.hash !== '') place.invalid(url.hash.slice(1), 'fragments are not permitted in the URL');
  if (url.search !== '') place.invalid(url.search.slice(1), 'query parameters are not permitted in the URL');
}

/** Checks that exactly one way to reach the webhook is given, and that it is sound. */
export function validateWebhookClient(client: WebhookClient, field: Field): void {
  if ((client.url === undefined) === (client.service === undefined)) {
    return field.required('exactly one of url or service is required');
  }
  if (client.url !== undefined) return validateUrl(client.url, field);
  const service = client.service!;
  const place = field.at('service');
  if ((service.name ?? '') === '') place.at('name').required('service name is required');
  if ((service.namespace ?? '') === '') place.at('namespace').required('service namespace is required');
  if (service.port !== undefined && isPortNumber(service.port).length > 0)
    place.at('port').invalid(service.port, `port is not valid: ${isPortNumber(service.port).join(',')}`);
  if (service.path !== undefined) validatePath(service.path, place.at('path'));
}

/** None at all is the root. Of a path without its slash the first character is not looked at, as upstream. */
function validatePath(path: string, place: Field): void {
  if (path === '' || path === '/') return;
  if (path === '//') return place.invalid(path, 'segment[0] may not be empty');
  if (!path.startsWith('/')) place.invalid(path, `must start with a '/'`);
  for (const [index, step] of path.slice(1).replace(/\/$/, '').split('/').entries()) {
    if (step === '') place.invalid(path, `segment[${index}] may not be empty`);
    else for (const why of isDns1123Subdomain(step)) place.invalid(path, `segment[${index}]: ${why}`);
  }
}
