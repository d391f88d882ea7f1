/** How a webhook is reached. Upstream: apiserver/pkg/util/webhook/validation.go. */
import { parseIp } from '../../base/cidr.ts';
import type { Field } from '../field-error.ts';
import { isDns1123Subdomain, isPortNumber } from '../names.ts';

/** Address of a webhook: a URL or a service. */
export interface WebhookClient {
  url?: string;
  service?: { name: string; namespace: string; path?: string; port?: number };
}

const FORM = 'desired format: https://host[/path]';

interface UrlParts {
  readonly scheme: string;
  readonly user: string | undefined;
  readonly host: string;
  readonly query: string;
  readonly fragment: string;
}

/** The parts as Go's url.Parse sees them, which refuses other texts than the platform's URL; a text says what is wrong. */
function splitUrl(text: string): UrlParts | string {
  if (/[\0-\x1f\x7f]/.test(text)) return 'net/url: invalid control character in URL';
  const [whole = '', fragment = ''] = cutAt(text, '#');
  if (whole.startsWith(':')) return 'missing protocol scheme';
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(whole)?.[1] ?? '';
  const [rest = '', query = ''] = cutAt(scheme === '' ? whole : whole.slice(scheme.length + 1), '?');
  if (scheme === '' && /^[^/]*:/.test(rest)) return 'first path segment in URL cannot contain colon';
  const [, authority = '', path = ''] = /^(?:\/\/([^/]*))?(.*)$/s.exec(rest) ?? [];
  const at = authority.lastIndexOf('@');
  const user = at < 0 ? undefined : authority.slice(0, at);
  const host = authority.slice(at + 1);
  const isOpaque = scheme !== '' && !rest.startsWith('/');
  const wrong =
    wrongHost(host) ?? wrongUser(user ?? '') ?? (isOpaque ? undefined : wrongEscape(path)) ?? wrongEscape(fragment);
  return wrong ?? { scheme: scheme.toLowerCase(), user, host, query, fragment };
}

/** A host name, or an IPv6 address in brackets, perhaps with a zone; then perhaps a port, as large as it likes. */
function wrongHost(host: string): string | undefined {
  const end = host.lastIndexOf(']');
  if (host.startsWith('[') && end < 0) return "missing ']' in host";
  const port = host.startsWith('[') ? host.slice(end + 1) : (/:.*$/s.exec(host)?.[0] ?? '');
  if (!/^(?::\d*)?$/.test(port)) return `invalid port ${JSON.stringify(port)} after host`;
  const name = host.slice(0, host.length - port.length);
  if (name.startsWith('[')) {
    const [address = '', zone] = name.slice(1, -1).split(/%25(.*)/s);
    if (parseIp(address)?.family !== 6 || zone === '') return 'invalid host';
    return wrongEscape(zone ?? '') ?? wrongCharacter(zone ?? '');
  }
  if (/[[\]]/.test(name)) return 'invalid IP-literal';
  // What is not ASCII alone is escaped in a name.
  const ascii = /%(?!25)[0-7][\da-f]/i.exec(name)?.[0];
  return wrongEscape(name) ?? (ascii && wrongEscapeText(ascii)) ?? wrongCharacter(name);
}

function wrongUser(user: string): string | undefined {
  return /^[\w.~:!$&'()*+,;=%@-]*$/.test(user) ? wrongEscape(user) : 'net/url: invalid userinfo';
}

function wrongEscape(text: string): string | undefined {
  const bad = /%(?![\da-f]{2}).{0,2}/is.exec(text)?.[0];
  return bad && wrongEscapeText(bad);
}

function wrongEscapeText(escape: string): string {
  return `invalid URL escape ${JSON.stringify(escape)}`;
}

function wrongCharacter(name: string): string | undefined {
  const bad = /[^\w.~!$&'()*+,;=<>"%\u0080-\uffff-]/.exec(name)?.[0];
  return bad && `invalid character ${JSON.stringify(bad)} in host name`;
}

function cutAt(text: string, mark: string): readonly string[] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function validateUrl(text: string, place: Field): void {
  const url = splitUrl(text);
  if (typeof url === 'string')
    return place.required(`url must be a valid URL: parse ${JSON.stringify(text)}: ${url}; ${FORM}`);
  if (url.scheme !== 'https') place.invalid(url.scheme, `'https' is the only allowed URL scheme; ${FORM}`);
  if (url.host === '') place.invalid(url.host, `host must be specified; ${FORM}`);
  if (url.user !== undefined) place.invalid(url.user, 'user information is not permitted in the URL');
  if (url.fragment !== '') place.invalid(url.fragment, 'fragments are not permitted in the URL');
  if (url.query !== '') place.invalid(url.query, 'query parameters are not permitted in the URL');
}

/** Checks that exactly one way to reach the webhook is given, and that it is sound. */
export function validateWebhookClient(client: WebhookClient, field: Field): void {
  if ((client.url === undefined) === (client.service === undefined)) {
    return field.required('exactly one of url or service is required');
  }
  if (client.url !== undefined) return validateUrl(client.url, field.at('url'));
  const service = client.service!;
  const place = field.at('service');
  // Upstream takes the one for the other.
  if ((service.namespace ?? '') === '') place.at('name').required();
  if ((service.name ?? '') === '') place.at('namespace').required();
  if (service.port !== undefined && isPortNumber(service.port).length > 0)
    place.at('port').invalid(service.port, `port is not valid: ${isPortNumber(service.port).join(', ')}`);
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
