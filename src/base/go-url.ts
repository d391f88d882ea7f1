/**
 * Parses URLs like Go's `net/url`, which accepts other texts than the platform's `URL` and has other error texts.
 * Upstream: url.Parse and url.ParseRequestURI.
 */
import { addressProblem } from './go-address.ts';
import { escapeProblem, nameProblem, unescaped } from './go-escapes.ts';
import { quote } from './go-quote.ts';

/** A URL's parts, unescaped where Go's are. */
export interface GoUrl {
  /** In lower case; '' for none. */
  readonly scheme: string;
  /** Before the `@` of the host, as given. */
  readonly user: string | undefined;
  readonly host: string;
  /** As given; '' where what follows the scheme does not begin with a slash. */
  readonly path: string;
  readonly query: string;
  readonly fragment: string;
}

/**
 * Parses a URL reference in a document. Returns an error text, without its beginning (`parse "x": `), for an invalid
 * one.
 */
export function parseGoUrl(text: string): GoUrl | string {
  const [whole, fragment] = cutAt(text, '#');
  const url = parse(whole, false);
  if (typeof url === 'string') return `parse ${quote(whole)}: ${url}`;
  const problem = escapeProblem(fragment);
  return problem === undefined ? { ...url, fragment } : `parse ${quote(text)}: ${problem}`;
}

/** Parses an absolute URL or path of a request: a `#` starts no fragment. */
export function parseGoRequestUri(text: string): GoUrl | string {
  const url = parse(text, true);
  return typeof url === 'string' ? `parse ${quote(text)}: ${url}` : url;
}

/** Host and port of a URL's host; brackets of an address are taken off. */
export function splitGoHost(host: string): readonly [name: string, port: string] {
  const [, name = '', port = ''] = /^(.*):(\d*)$/s.exec(host) ?? [undefined, host];
  return [/^\[.*\]$/s.test(name) ? name.slice(1, -1) : name, port];
}

function parse(text: string, isRequest: boolean): GoUrl | string {
  const none = { scheme: '', user: undefined, host: '', path: '', query: '', fragment: '' };
  if (/[\0-\x1f\x7f]/.test(text)) return 'net/url: invalid control character in URL';
  if (text === '' && isRequest) return 'empty url';
  if (text === '*') return { ...none, path: '*' };
  if (text.startsWith(':')) return 'missing protocol scheme';
  const schemeText = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1] ?? '';
  const scheme = schemeText.toLowerCase();
  const [rest, query] = cutAt(schemeText === '' ? text : text.slice(schemeText.length + 1), '?');
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { ...none, scheme, query };
    if (isRequest) return 'invalid URI for request';
    if (/^[^/]*:/.test(rest)) return 'first path segment in URL cannot contain colon';
  }
  const hasAuthority = rest.startsWith('//') && (scheme !== '' || (!isRequest && !rest.startsWith('///')));
  const [, authority = '', path = ''] = hasAuthority ? (/^\/\/([^/]*)(.*)$/s.exec(rest) ?? []) : [rest, '', rest];
  const at = authority.lastIndexOf('@');
  const user = at < 0 ? undefined : authority.slice(0, at);
  const host = authority.slice(at + 1);
  const problem = hostProblem(host, scheme) ?? userProblem(user ?? '') ?? escapeProblem(path);
  return problem ?? { ...none, scheme, user, host: unescaped(host), path, query };
}

/** A host name, or an IPv6 address in brackets with an optional zone; then an optional port of any size. */
function hostProblem(host: string, scheme: string): string | undefined {
  const open = host.lastIndexOf('[');
  if (open > 0) return 'invalid IP-literal';
  if (open === 0) return literalProblem(host);
  // Lists of hosts with ports are for databases, not for http.
  const colon = scheme === 'http' || scheme === 'https' ? host.indexOf(':') : host.lastIndexOf(':');
  const port = colon < 0 ? '' : host.slice(colon);
  if (!/^(?::\d*)?$/.test(port)) return `invalid port ${quote(port)} after host`;
  return nameProblem(host, false);
}

function literalProblem(host: string): string | undefined {
  const close = host.lastIndexOf(']');
  if (close < 0) return "missing ']' in host";
  const port = host.slice(close + 1);
  if (!/^(?::\d*)?$/.test(port)) return `invalid port ${quote(port)} after host`;
  const [address = '', zone] = host.slice(1, close).split(/(?=%25)(.*)/s);
  const problem = nameProblem(address, false) ?? (zone === undefined ? undefined : nameProblem(zone, true));
  if (problem !== undefined) return problem;
  const name = unescaped(host.slice(1, close));
  const reason = addressProblem(name);
  if (reason !== undefined) return `invalid host: ${reason}`;
  return name.includes(':') ? undefined : 'invalid IP-literal';
}

/** Name and password are unescaped separately. */
function userProblem(user: string): string | undefined {
  if (!/^[\w.~:!$&'()*+,;=%@-]*$/.test(user)) return 'net/url: invalid userinfo';
  const [name, password] = cutAt(user, ':');
  return escapeProblem(name) ?? escapeProblem(password);
}

/** Names and values of a query, in their order. What cannot be unescaped or has a semicolon is left out. */
export function* goQueryPairs(query: string): Generator<readonly [name: string, value: string]> {
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';') || escapeProblem(pair) !== undefined) continue;
    const [name, value] = cutAt(pair, '=');
    yield [unescaped(name.replaceAll('+', ' ')), unescaped(value.replaceAll('+', ' '))];
  }
}

function cutAt(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
