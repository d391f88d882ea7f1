/** Errors of a registry in the form of the distribution spec. */
import type { HttpHeaders, HttpResponse } from '../../platform/http.ts';

type RegistryErrorCode =
  | 'BLOB_UNKNOWN'
  | 'BLOB_UPLOAD_INVALID'
  | 'BLOB_UPLOAD_UNKNOWN'
  | 'DENIED'
  | 'DIGEST_INVALID'
  | 'MANIFEST_BLOB_UNKNOWN'
  | 'MANIFEST_INVALID'
  | 'MANIFEST_UNKNOWN'
  | 'NAME_INVALID'
  | 'NAME_UNKNOWN'
  | 'SIZE_INVALID'
  | 'TOOMANYREQUESTS'
  | 'UNSUPPORTED';

export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  readonly status: number;
  readonly code: RegistryErrorCode;
  readonly headers: HttpHeaders;

  constructor(status: number, code: RegistryErrorCode, message: string, headers: HttpHeaders = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }

  /** The same error, after whose response the connection is closed. */
  closing(): RegistryError {
    return new RegistryError(this.status, this.code, this.message, { ...this.headers, connection: 'close' });
  }
}

export function errorResponse({ status, code, message, headers }: RegistryError): HttpResponse {
  return jsonResponse(status, { errors: [{ code, message }] }, headers);
}

export function jsonResponse(status: number, body: object, headers: HttpHeaders = {}): HttpResponse {
  const bytes = Buffer.from(`${JSON.stringify(body)}\n`);
  const all = { 'content-type': 'application/json', ...headers, 'content-length': String(bytes.length) };
  return { kind: 'bytes', status, headers: all, chunks: [bytes] };
}

export function emptyResponse(status: number, headers: HttpHeaders = {}): HttpResponse {
  return { kind: 'bytes', status, headers: { 'content-length': '0', ...headers }, chunks: [] };
}
