/** Turns responses of the API handler into a transport's answers: objects unchanged, other content decoded. */
import { stringifyJson } from '../api/codec/json.ts';
import { internalError } from '../api/status-error.ts';
import type { ApiHeaders, ApiResponse } from '../api/transport.ts';
import type { Clock } from '../platform/clock.ts';
import { decodeErrorBody } from './answer-error.ts';
import { bodyOfStream, type StreamResponse, valueOfStream } from './stream-answers.ts';
import type { TransportAnswer } from './transport-client.ts';

function plainHeaders(headers: ApiHeaders): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    plain[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ');
  }
  return plain;
}

export function toAnswer(response: ApiResponse, clock: Clock): TransportAnswer | Promise<TransportAnswer> {
  if (response.kind === 'object') {
    return { status: response.status, headers: plainHeaders(response.headers), object: response.object };
  }
  if (response.kind === 'stream') return streamAnswer(response, clock);
  return toRawAnswer(response).then(({ status, headers, body }) => ({
    status,
    headers,
    object: decodeErrorBody(body),
  }));
}

async function streamAnswer(response: StreamResponse, clock: Clock): Promise<TransportAnswer> {
  const object = await valueOfStream(response, clock);
  return { status: response.status, headers: plainHeaders(response.headers), object };
}

export async function toRawAnswer(
  response: ApiResponse,
): Promise<{ status: number; headers: Record<string, string>; body: Uint8Array }> {
  switch (response.kind) {
    case 'object':
      return {
        status: response.status,
        headers: plainHeaders(response.headers),
        body: Buffer.from(stringifyJson(response.object), 'utf8'),
      };
    case 'bytes':
      return { status: response.status, headers: plainHeaders(response.headers), body: oneChunk(response.chunks) };
    case 'stream': {
      const body = await bodyOfStream(response);
      return { status: response.status, headers: plainHeaders(response.headers), body };
    }
    case 'watch':
    case 'upgrade':
      throw internalError(`the API handler answered a plain request with a response of kind ${response.kind}`);
  }
}

/** A single chunk is not copied: large documents are requested often. */
function oneChunk(chunks: readonly Uint8Array[]): Uint8Array {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}
