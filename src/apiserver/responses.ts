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
  // The client has left and does not read the answer.
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

/** An answer that is an object of its own (a Status, a discovery document), in the form the client takes. Who takes YAML gets JSON. */
export function objectResponse(
  request: ApiRequest,
  answer: { status?: number; object: object; headers?: ApiHeaders },
): ApiResponse {
  const { status = 200, object, headers = {} } = answer;
  if (request.wantsObjects) return { kind: 'object', status, headers: { ...headers }, object };
  const { apiVersion = '', kind = '' } = object as { apiVersion?: string; kind?: string };
  // The list of the core group's resources names no version.
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

/** Undefined where the client takes no form of a failure, or of what is no object of the API: the answer is indented JSON. Throws 406. */
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

/** An answer that is no object of the API. As upstream indented, whatever the client takes. */
export function rawJsonResponse(request: ApiRequest, object: object): ApiResponse {
  if (request.wantsObjects) return { kind: 'object', status: 200, headers: {}, object };
  return { kind: 'bytes', status: 200, headers: JSON_HEADERS, chunks: [prettyOf(object)] };
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
