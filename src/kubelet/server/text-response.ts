/** Small answers of the kubelet's server. */
import { stringifyJson } from '../../api/codec/json.ts';
import type { HttpResponse } from '../../platform/http.ts';

/** A text response; error bodies have no newline, as upstream. */
export function textResponse(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return {
    kind: 'bytes',
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
    chunks: [Buffer.from(text)],
  };
}

export function jsonResponse(object: unknown): HttpResponse {
  return {
    kind: 'bytes',
    status: 200,
    headers: { 'content-type': 'application/json' },
    chunks: [Buffer.from(stringifyJson(object))],
  };
}

/** An error that answers with this status and text. */
export class ServerError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = 'ServerError';
    this.status = status;
  }
}
