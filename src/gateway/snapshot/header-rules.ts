/**
 * Which headers a route's filters may change, and to what. A filter that set a length, a coding or a connection's options would
 * end a message where the proxy does not, and what follows would pass for the next one on a connection that others share.
 * The controller refuses such filters; the data plane leaves them out too, whatever its snapshot has.
 */

/** Headers that belong to one connection (RFC 9110, 7.6.1). They are not passed on. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // Answered by the front.
  'expect',
  'http2-settings',
]);

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Tabs, spaces, visible characters and bytes beyond ASCII (RFC 9110, 5.5); Node.js sends nothing else. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether a filter may set, add or remove the header: it neither frames a message nor names its host or its connection. */
export function isChangeableHeader(name: string): boolean {
  const lower = name.toLowerCase();
  if (lower === 'host' || lower === 'content-length' || lower.startsWith('proxy-')) return false;
  return TOKEN.test(name) && !HOP_BY_HOP.has(lower);
}

/** Whether the value fits in one line of a head. */
export function isHeaderValue(value: string): boolean {
  return FIELD_VALUE.test(value);
}
