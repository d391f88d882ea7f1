/** The errors in answers of status 400 and above. Upstream: client-go rest.Result.Error, transformResponse. */
import type { Status } from '../api/gen/meta-v1.ts';
import { statusFailure, StatusError, type StatusReason } from '../api/status-error.ts';

const REASON_OF_CODE: Readonly<Record<number, StatusReason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function isStatus(object: unknown): object is Status {
  return typeof object === 'object' && object !== null && (object as { kind?: unknown }).kind === 'Status';
}

/** The error of an answer of status 400 and above: its Status, or one made from code and text. */
export function errorOfAnswer(status: number, body: unknown): StatusError {
  if (isStatus(body)) return new StatusError(body.code === undefined ? { ...body, code: status } : body);
  const text = typeof body === 'string' && body.trim() !== '' ? body.trim() : 'unknown';
  return statusFailure(status, REASON_OF_CODE[status] ?? (status >= 500 ? 'InternalError' : ''), text);
}

/** Decodes an error body that may or may not be JSON. */
export function decodeErrorBody(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** When to try again, of a 429 or 5xx answer with a `retry-after` header; undefined for other answers. */
export function retryAfterMs(answer: {
  status: number;
  headers: Readonly<Record<string, string>>;
}): number | undefined {
  if (answer.status !== 429 && answer.status < 500) return undefined;
  const seconds = Number(answer.headers['retry-after']);
  return Number.isInteger(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}
