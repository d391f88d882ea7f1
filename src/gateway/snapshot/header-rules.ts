/**
 * The headers that a route's filters may change, and their valid values. A filter that set a length, a transfer coding or a
 * connection option would end a message where the proxy does not, and the rest would be read as the next message on a shared
 * connection. The controller refuses such filters, and the data plane ignores them in any snapshot.
 */

/** Headers that belong to one connection (RFC 9110, 7.6.1), which are not forwarded. */
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
  // Node's HTTP server answers it.
  'expect',
  'http2-settings',
]);

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Tabs, spaces, visible characters and bytes beyond ASCII (RFC 9110, 5.5); Node.js sends no others. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether a filter may change the header: it neither frames a message nor names its host or its connection. */
export function isChangeableHeader(name: string): boolean {
  const lower = name.toLowerCase();
  if (lower === 'host' || lower === 'content-length' || lower.startsWith('proxy-')) return false;
  return TOKEN.test(name) && !HOP_BY_HOP.has(lower);
}

/** Whether the value is valid in a header line. */
export function isHeaderValue(value: string): boolean {
  return FIELD_VALUE.test(value);
}
