/** The answers of components' health and metrics ports. */
import type { HttpResponse } from '../../platform/http.ts';

export function textResponse(status: number, body: string): HttpResponse {
  const headers = { 'content-type': 'text/plain; charset=utf-8' };
  return { kind: 'bytes', status, headers, chunks: [Buffer.from(body)] };
}
