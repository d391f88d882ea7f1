/** Between the HTTP server port and the API handler: bytes in, bytes out. */
import type { ApiBody, ApiHandler, ApiResponse } from '../api/transport.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../platform/http.ts';
import type { Random } from '../platform/random.ts';

const noBody: ApiBody = { kind: 'none' };

function bodyOf(request: HttpRequest): ApiBody {
  if (request.method === 'GET' || request.method === 'HEAD') return noBody;
  return { kind: 'bytes', read: (limitBytes) => request.readBody(limitBytes), stream: () => request.bodyStream() };
}

/** Serves HTTP requests by an API handler. `random` makes the Audit-ID of each answer. */
export function createHttpHandler(handler: ApiHandler, random: Random): HttpHandler {
  return (request) => {
    const answer = handler({
      method: request.method,
      path: request.path,
      query: request.query,
      headers: request.headers,
      remoteAddress: request.remoteAddress,
      ...(request.peerCertificate === undefined ? {} : { peerCertificate: request.peerCertificate }),
      wantsObjects: false,
      wantsUpgrade: request.wantsUpgrade,
      body: bodyOf(request),
      signal: request.signal,
    });
    const head = request.method === 'HEAD';
    if (answer instanceof Promise) return answer.then((response) => toHttp(response, random, head));
    return toHttp(answer, random, head);
  };
}

function toHttp(response: ApiResponse, random: Random, head: boolean): HttpResponse {
  if (response.kind === 'upgrade') return response;
  const headers = { 'audit-id': random.uuid(), ...response.headers };
  switch (response.kind) {
    case 'bytes':
      return { kind: 'bytes', status: response.status, headers, chunks: head ? [] : response.chunks };
    case 'stream':
      return { kind: 'stream', status: response.status, headers, run: (sink) => (head ? sink.end() : response.run(sink)) };
    default:
      throw new Error(`a handler answered a network request with ${response.kind}`);
  }
}
