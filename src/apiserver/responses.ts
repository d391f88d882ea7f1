/** Turns errors and plain objects into responses. Upstream: endpoints/handlers/responsewriters. */
import type { Status } from '../api/gen/meta-v1.ts';
import { internalError, StatusError } from '../api/status-error.ts';
import type { ApiHeaders, ApiRequest, ApiResponse } from '../api/transport.ts';
import { errorMessage } from '../base/errors.ts';
import { StoreError } from '../storage/store.ts';
import { isPrettyPrint, lineOf, prettyOf } from './json-text.ts';
import { type MediaForm, MEDIA_TYPE_OF, negotiate } from './negotiation.ts';
import { warningHeaders } from './warning-headers.ts';
import { BodyBrokenOffError, BodyTooLargeError } from '../platform/http.ts';
import type { Log } from '../platform/log.ts';
import { builtinSchema, encodeProtobuf } from '../api/codec/protobuf.ts';
import type { JsonObject } from '../api/codec/own-property.ts';

/** Sent with every response of the API, as upstream. */
export const CACHE_CONTROL = 'no-cache, private';

/** The headers of a JSON response; shared. */
export const JSON_HEADERS: ApiHeaders = { 'content-type': 'application/json', 'cache-control': CACHE_CONTROL };

/** The Status of any error; other errors than API errors are bugs, logged with their stack. */
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
  // The client has disconnected and does not read the response.
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

/**
 * A response with an object that is not stored (a Status, a discovery document), in a form that the client accepts.
 * Clients that accept YAML get JSON.
 */
export function objectResponse(
  request: ApiRequest,
  answer: { status?: number; object: object; headers?: ApiHeaders },
): ApiResponse {
  const { status = 200, object, headers = {} } = answer;
  if (request.wantsObjects) return { kind: 'object', status, headers: { ...headers }, object };
  const { apiVersion = '', kind = '' } = object as { apiVersion?: string; kind?: string };
  // The resource list of the core group has no version in its kind.
  const schema = builtinSchema(apiVersion === '' ? 'v1' : apiVersion, kind);
  const form = formOf(request, { isLenient: status >= 400 || schema === undefined, protobuf: schema !== undefined });
  if (form?.serialization === 'protobuf' && schema !== undefined) {
    const bytes = encodeProtobuf(schema, object as JsonObject);
    const own = { ...JSON_HEADERS, 'content-type': MEDIA_TYPE_OF.protobuf, ...headers };
    return { kind: 'bytes', status, headers: own, chunks: [bytes] };
  }
  const isPretty = form === undefined || form.isPretty === true || isPrettyPrint(request);
  const bytes = isPretty ? prettyOf(object) : lineOf(object);
  return { kind: 'bytes', status, headers: { ...JSON_HEADERS, ...headers }, chunks: [bytes] };
}

/**
 * Undefined when the client accepts no form of an error, or for other values than API objects: the response is
 * indented JSON. Throws 406.
 */
function formOf(
  request: ApiRequest,
  { isLenient, protobuf }: { isLenient: boolean; protobuf: boolean },
): MediaForm | undefined {
  try {
    return negotiate(request.headers['accept'], { as: [], protobuf, stream: false });
  } catch (error) {
    if (isLenient && error instanceof StatusError) return undefined;
    throw error;
  }
}

/** A response with a value other than an API object. As upstream indented, whatever the client accepts. */
export function rawJsonResponse(request: ApiRequest, object: object): ApiResponse {
  if (request.wantsObjects) return { kind: 'object', status: 200, headers: {}, object };
  return { kind: 'bytes', status: 200, headers: JSON_HEADERS, chunks: [prettyOf(object)] };
}

/** The response to a failed request. */
export function errorResponse(request: ApiRequest, status: Status, warnings: readonly string[] = []): ApiResponse {
  const retry = status.details?.retryAfterSeconds;
  const headers: ApiHeaders = {
    ...warningHeaders(warnings),
    ...(retry === undefined ? {} : { 'retry-after': String(retry) }),
  };
  return objectResponse(request, { status: status.code ?? 500, object: status, headers });
}

/** A plain-text response. */
export function textResponse(status: number, text: string, headers: ApiHeaders = {}): ApiResponse {
  const all = {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': CACHE_CONTROL,
    'x-content-type-options': 'nosniff',
    ...headers,
  };
  return { kind: 'bytes', status, headers: all, chunks: [Buffer.from(text)] };
}
