/**
 * JSON as the server writes it: compact with a newline at the end, or indented without one. Upstream: apimachinery
 * serializer/json, negotiation.isPrettyPrint.
 */
import { stringifyJson } from '../api/codec/json.ts';
import { asWritten } from '../api/codec/written-form.ts';
import type { ApiRequest } from '../api/transport.ts';
import { parseGoBoolean } from '../base/go-boolean.ts';

const INDENT_SPACES = 2;

/** The object's JSON with a newline. */
export function lineOf(object: object): Buffer {
  return Buffer.from(`${stringifyJson(asWritten(object))}\n`);
}

/** The object's JSON, indented. */
export function prettyOf(object: object): Buffer {
  return Buffer.from(stringifyJson(asWritten(object), INDENT_SPACES));
}

/**
 * Whether the query asks for indented JSON, or the client is a browser, curl or Wget and the query does not forbid
 * it.
 */
export function isPrettyPrint({ query, headers }: Pick<ApiRequest, 'query' | 'headers'>): boolean {
  if (query.includes('pretty')) {
    const pretty = new URLSearchParams(query).get('pretty') ?? '';
    if (pretty !== '') return parseGoBoolean(pretty) === true;
  }
  const agent = headers['user-agent'];
  return agent !== undefined && /^(?:curl|Wget|Mozilla\/5\.0)/.test(agent);
}
