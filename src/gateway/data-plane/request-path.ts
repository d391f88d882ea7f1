/**
 * Validates and normalises the target of a request before it is matched. Dot segments are resolved, including percent-encoded
 * dots, so that no path matches one route and means another at the backend; %2F stays an ordinary character of its segment.
 * Targets that RFC 9112 does not allow are refused.
 */
import { isIPv6 } from 'node:net';

/** A target in the form in which it is matched and forwarded. */
export interface RequestTarget {
  readonly path: string;
  /** The query with its `?`, or ''. */
  readonly query: string;
  /** Host and port of a target in absolute form. */
  readonly authority?: string;
}

/** Some URL parsers treat a backslash as a slash. */
const FORBIDDEN_IN_PATH = /[\x00-\x20\x7f#\\]/;
const FORBIDDEN_IN_QUERY = /[\x00-\x20\x7f#]/;
const ABSOLUTE = /^https?:\/\/([^/?]*)(.*)$/i;
/**
 * Encoded characters that need no encoding (RFC 3986, 2.3), except inside an invalid encoding, which decoding could make valid.
 */
const UNRESERVED = /(?<!%[0-9a-f]?)%(2[de]|3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])/gi;
const DOTS = /\/(\.|%2e){1,2}(\/|$)/i;

/** Undefined for a malformed target. */
export function parseTarget(target: string, method: string): RequestTarget | undefined {
  if (target === '*') return method === 'OPTIONS' ? { path: '*', query: '' } : undefined;
  const absolute = ABSOLUTE.exec(target);
  const origin = absolute === null ? target : withSlash(absolute[2]!);
  const authority = absolute?.[1];
  if (!origin.startsWith('/') || authority === '') return undefined;
  const at = origin.indexOf('?');
  const path = decodeUnreserved(at < 0 ? origin : origin.slice(0, at));
  const query = at < 0 ? '' : origin.slice(at);
  if (FORBIDDEN_IN_PATH.test(path) || FORBIDDEN_IN_QUERY.test(query)) return undefined;
  const resolved = DOTS.test(path) ? withoutDotSegments(path) : path;
  if (resolved === undefined) return undefined;
  return authority === undefined ? { path: resolved, query } : { path: resolved, query, authority };
}

function decodeUnreserved(path: string): string {
  if (!path.includes('%')) return path;
  return path.replace(UNRESERVED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

function withSlash(rest: string): string {
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Removes dot segments (RFC 3986, 5.2.4). Undefined for a path above the root, which no legitimate client sends. */
function withoutDotSegments(path: string): string | undefined {
  const remaining: string[] = [];
  const segments = path.slice(1).split('/');
  for (const [index, segment] of segments.entries()) {
    const plain = segment.replace(/%2e/gi, '.');
    const isLast = index === segments.length - 1;
    if (plain === '.') {
      if (isLast) remaining.push('');
    } else if (plain === '..') {
      if (remaining.pop() === undefined) return undefined;
      if (isLast) remaining.push('');
    } else remaining.push(segment);
  }
  return `/${remaining.join('/')}`;
}

const HOST_NAME = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?\.?$/;
const HOST_ADDRESS = /^\[[0-9a-f:.]+\]$/;
/** The maximum length of a DNS name (RFC 1035, 2.3.4). Every label costs a look-up of wildcards. */
const MAX_HOST_LENGTH = 253;
const LONG_LABEL = /[^.]{64}/;

/** The host of an authority in lower case, without port and final dot; undefined when it is malformed or too long. */
export function hostOf(authority: string): string | undefined {
  if (authority.length > MAX_HOST_LENGTH + '.:65535'.length) return undefined;
  const port = /:(\d{0,5})$/.exec(authority);
  const host = (port === null ? authority : authority.slice(0, port.index)).toLowerCase();
  if (HOST_ADDRESS.test(host)) return isIPv6(host.slice(1, -1)) ? host : undefined;
  if (!HOST_NAME.test(host)) return undefined;
  const name = host.endsWith('.') ? host.slice(0, -1) : host;
  return name.length > MAX_HOST_LENGTH || LONG_LABEL.test(name) ? undefined : name;
}
