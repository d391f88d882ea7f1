/** Turns errors and plain objects into responses. Upstream: endpoints/handlers/responsewriters. */
import type { Status } from '../api/gen/meta-v1.ts';
import { stringifyJson } from '../api/codec/json.ts';
import { internalError, StatusError } from '../api/status-error.ts';
import type { ApiHeaders, ApiRequest, ApiResponse } from '../api/transport.ts';
import { errorMessage } from '../base/errors.ts';
import { StoreError } from '../storage/store.ts';
import { warningHeaders } from './warning-headers.ts';
import { BodyBrokenOffError, BodyTooLargeError } from '../platform/http.ts';
import type { Log } from '../platform/log.ts';
import { builtinSchema, encodeProtobuf } from '../api/codec/protobuf.ts';
import type { JsonObject } from '../api/codec/own-property.ts';

/** Sent with every answer of the API, as upstream. */
export const CACHE_CONTROL = 'no-cache, private';

/** Headers of an answer in JSON; shared. */
export const JSON_HEADERS: ApiHeaders = { 'content-type': 'application/json', 'cache-control': CACHE_CONTROL };

/** The Status of any error; what is not an API error is a bug, logged with its stack. */
export function statusOf(error: unknown, log: Log): Status {
  if (error instanceof StatusError) return error.status;
  if (error instanceof BodyTooLargeError) {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `Request entity too large: limit is ${error.limitBytes}`,
      reason: 'RequestEntityTooLarge',
      code: 413,
    };
  }
  // Nobody reads the answer.
  if (error instanceof BodyBrokenOffError) return internalError(error.message).status;
  if (error instanceof StoreError) return storeStatus(error);
  log.unexpected('request failed', error);
  return internalError(errorMessage(error)).status;
}

function storeStatus(error: StoreError): Status {
  const base = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };
  switch (error.code) {
    case 'unknownOutcome':
      return { ...base, message: `Timeout: ${error.message}`, reason: 'Timeout', code: 504 };
    case 'unavailable':
    case 'closed':
      return { ...base, message: error.message, reason: 'ServiceUnavailable', code: 503 };
    case 'tooLarge':
      return { ...base, message: error.message, reason: 'RequestEntityTooLarge', code: 413 };
    default:
      return internalError(error.message).status;
  }
}

/** An answer that is an object of its own (a Status, a discovery document), in the form the client takes. */
export function objectResponse(
  request: ApiRequest,
  answer: { status?: number; object: object; headers?: ApiHeaders },
): ApiResponse {
  const { status = 200, object, headers = {} } = answer;
  if (request.wantsObjects) return { kind: 'object', status, headers: { ...headers }, object };
  const accept = request.headers['accept'] ?? '';
  const { apiVersion = '', kind = '' } = object as { apiVersion?: string; kind?: string };
  if (accept.startsWith('application/vnd.kubernetes.protobuf')) {
    const schema = builtinSchema(apiVersion, kind);
    if (schema !== undefined) {
      const bytes = encodeProtobuf(schema, object as JsonObject);
      return {
        kind: 'bytes',
        status,
        headers: { ...JSON_HEADERS, 'content-type': 'application/vnd.kubernetes.protobuf', ...headers },
        chunks: [bytes],
      };
    }
  }
  const text = stringifyJson(object, request.query.includes('pretty=') ? 2 : 0);
  return { kind: 'bytes', status, headers: { ...JSON_HEADERS, ...headers }, chunks: [Buffer.from(`${text}\n`)] };
}

/** The answer to a failed request. */
export function errorResponse(request: ApiRequest, status: Status, warnings: readonly string[] = []): ApiResponse {
  const retry = status.details?.retryAfterSeconds;
  const headers: ApiHeaders = {
    ...warningHeaders(warnings),
    ...(retry === undefined ? {} : { 'retry-after': String(retry) }),
  };
  return objectResponse(request, { status: status.code ?? 500, object: status, headers });
}

/** A plain-text answer. */
export function textResponse(status: number, text: string, headers: ApiHeaders = {}): ApiResponse {
  const all = {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': CACHE_CONTROL,
    'x-content-type-options': 'nosniff',
    ...headers,
  };
  return { kind: 'bytes', status, headers: all, chunks: [Buffer.from(text)] };
}
