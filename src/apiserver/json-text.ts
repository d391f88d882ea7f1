/**
 * JSON as the server writes it: an object and the end of its line, or indented and without one for people. Upstream:
 * apimachinery serializer/json, negotiation.isPrettyPrint.
 */
import { stringifyJson } from '../api/codec/json.ts';
import { asWritten } from '../api/codec/written-form.ts';
import type { ApiRequest } from '../api/transport.ts';
import { parseGoBoolean } from '../base/go-boolean.ts';

const INDENT_SPACES = 2;

/** The object's JSON and the end of its line. */
export function lineOf(object: object): Buffer {
  return Buffer.from(`${stringifyJson(asWritten(object))}\n`);
}

/** The object's JSON as a person reads it. */
export function prettyOf(object: object): Buffer {
  return Buffer.from(stringifyJson(asWritten(object), INDENT_SPACES));
}

/** Whether the query wants indented JSON, or the client is a browser, curl or Wget and the query does not refuse it. */
export function isPrettyPrint({ query, headers }: Pick<ApiRequest, 'query' | 'headers'>): boolean {
  if (query.includes('pretty')) {
    const pretty = new URLSearchParams(query).get('pretty') ?? '';
    if (pretty !== '') return parseGoBoolean(pretty) === true;
  }
  const agent = headers['user-agent'];
  return agent !== undefined && /^(?:curl|Wget|Mozilla\/5\.0)/.test(agent);
}
