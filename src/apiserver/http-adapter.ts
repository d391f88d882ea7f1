/** Connects the HTTP server port with the API handler: bytes in, bytes out. */
import { yamlOnLoop, type YamlCodec } from '../api/codec/yaml-codec.ts';
import type { ApiBody, ApiHandler, ApiRequest, ApiResponse } from '../api/transport.ts';
import { clientFlow } from '../platform/client-flow.ts';
import type { Clock } from '../platform/clock.ts';
import type { Compression } from '../platform/compression.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../platform/http.ts';
import type { Random } from '../platform/random.ts';
import { parseAccept } from '../api/accept.ts';

const NO_BODY: ApiBody = { kind: 'none' };

function bodyOf(request: HttpRequest): ApiBody {
  if (request.method === 'GET' || request.method === 'HEAD') return NO_BODY;
  return {
    kind: 'bytes',
    read: (limitBytes, gate) => request.readBody(limitBytes, gate),
    stream: () => request.bodyStream(),
  };
}

const noCertificate: Pick<ApiRequest, 'peerCertificate'> = {};

function certificateOf({
  peerCertificate,
  refusedCertificate,
}: HttpRequest): Pick<ApiRequest, 'peerCertificate' | 'refusedCertificate'> {
  if (peerCertificate !== undefined) return { peerCertificate };
  return refusedCertificate === true ? { refusedCertificate } : noCertificate;
}

const NO_TURNS: Pick<ApiRequest, 'pause' | 'turn'> = {};

function turnsOf(request: HttpRequest, clock: Clock | undefined): Pick<ApiRequest, 'pause' | 'turn'> {
  if (clock === undefined) return NO_TURNS;
  const flow = (): string | undefined => clientFlow(request.peerCertificate, request.remoteAddress);
  return { pause: () => clock.yield(flow()), turn: () => clock.turn(flow()) };
}

export interface CompressionDeps {
  readonly compression: Compression;
  readonly clock: Clock;
}

/** Threads that convert bodies off the event loop. Without `compression`, responses are not compressed. */
export interface BodyDeps extends Partial<CompressionDeps> {
  readonly yaml?: YamlCodec;
}

/** Serves HTTP requests by an API handler. `random` generates the Audit-Id of responses to requests without one. */
export function createHttpHandler(handler: ApiHandler, random: Random, bodies: BodyDeps = {}): HttpHandler {
  const { yaml = yamlOnLoop, compression, clock } = bodies;
  const packing = compression?.compresses === true && clock !== undefined ? { compression, clock } : undefined;
  return (request) => {
    const answer = handler({
      method: request.method,
      path: request.path,
      query: request.query,
      headers: request.headers,
      headerLines: (name) => request.headerLines(name),
      remoteAddress: request.remoteAddress,
      ...certificateOf(request),
      wantsObjects: false,
      wantsUpgrade: request.wantsUpgrade,
      body: bodyOf(request),
      yaml,
      ...turnsOf(request, clock),
      signal: request.signal,
    });
    const head = request.method === 'HEAD';
    const packs = packing !== undefined && request.method === 'GET' && takesGzip(request.headers['accept-encoding']);
    const finish = (response: ApiResponse): HttpResponse | Promise<HttpResponse> => {
      const result = toHttp(response, () => request.headers['audit-id'] || random.uuid(), head);
      return packs && result.kind === 'bytes' && isLarge(result) ? packed(result, packing) : result;
    };
    return answer instanceof Promise ? answer.then(finish) : finish(answer);
  };
}

type BytesResponse = Extract<HttpResponse, { kind: 'bytes' }>;

/** As upstream: smaller bodies are not compressed. */
const PACK_FROM_BYTES = 128 * 1024;
/** Compression uses Node.js's thread pool, which may be busy: after this time the response is sent uncompressed. */
const PACK_WITHIN_MS = 2000;

function takesGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  return parseAccept(header).some(({ type }) => type === 'gzip');
}

function isLarge({ status, headers, chunks }: BytesResponse): boolean {
  if (status !== 200 || headers['content-encoding'] !== undefined) return false;
  let length = 0;
  for (const chunk of chunks) length += chunk.byteLength;
  return length >= PACK_FROM_BYTES;
}

async function packed(response: BytesResponse, { compression, clock }: CompressionDeps): Promise<BytesResponse> {
  const late = new AbortController();
  const cancel = clock.setTimer(PACK_WITHIN_MS, () => late.abort());
  const chunks = await compression.gzipAnswer(response.chunks, late.signal);
  cancel();
  if (chunks === undefined) return response;
  const vary =
    response.headers['vary'] === undefined ? 'Accept-Encoding' : `${String(response.headers['vary'])}, Accept-Encoding`;
  return { ...response, headers: { ...response.headers, 'content-encoding': 'gzip', vary }, chunks };
}

function toHttp(response: ApiResponse, auditId: () => string, head: boolean): HttpResponse {
  if (response.kind === 'upgrade') return response;
  const headers = { 'audit-id': response.headers['audit-id'] ?? auditId(), ...response.headers };
  switch (response.kind) {
    case 'bytes':
      return { kind: 'bytes', status: response.status, headers, chunks: head ? [] : response.chunks };
    case 'stream':
      return {
        kind: 'stream',
        status: response.status,
        headers,
        run: (sink) => (head ? sink.end() : response.run(sink)),
      };
    default:
      throw new Error(`a handler answered a network request with ${response.kind}`);
  }
}
