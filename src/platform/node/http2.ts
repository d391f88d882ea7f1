/** HTTP/2 streams of node:http2 as the port's requests and responses. No upgrades here: HTTP/2 has none. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import {
  type BodyGate,
  BodyBrokenOffError,
  BodyTooLargeError,
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  type PeerCertificate,
} from '../http.ts';
import { sendableHeaderValue } from '../../base/header-text.ts';
import { BodyBuffer } from './body-buffer.ts';
import { JOIN_BYTES, plainAddress } from './http1.ts';
import { CoalescingSink, runInto, writeInTurns } from './streams.ts';
import { gaveRefusedCertificate, verifiedPeer } from './tls.ts';
import type { UnsentAnswers } from './unsent-answers.ts';

/** The head of a request. */
export interface Http2Head {
  readonly headers: IncomingHttpHeaders;
  /** Names and values alternately, as sent. */
  readonly lines: readonly string[];
  readonly socket: Socket;
}

/** A request as node:http2 brought it. */
export class Http2Request implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly isHttp2 = true;
  readonly wantsUpgrade = false;
  readonly #stream: ServerHttp2Stream;
  readonly #socket: Socket;
  readonly #lines: readonly string[];
  #controller: AbortController | undefined;

  constructor(stream: ServerHttp2Stream, { headers, lines, socket }: Http2Head) {
    const target = String(headers[':path'] ?? '/');
    const mark = target.indexOf('?');
    this.method = String(headers[':method'] ?? 'GET');
    this.path = mark < 0 ? target : target.slice(0, mark);
    this.query = mark < 0 ? '' : target.slice(mark + 1);
    headers.host ??= headers[':authority'] as string | undefined;
    this.headers = headers as Record<string, string | undefined>;
    this.#stream = stream;
    this.#socket = socket;
    this.#lines = lines;
  }

  headerLines(name: string): readonly string[] {
    return this.#lines.filter((_, index, lines) => index % 2 === 1 && lines[index - 1] === name);
  }

  get remoteAddress(): string {
    return plainAddress(this.#socket.remoteAddress);
  }

  get peerCertificate(): PeerCertificate | undefined {
    return verifiedPeer(this.#socket);
  }

  get refusedCertificate(): boolean {
    return gaveRefusedCertificate(this.#socket);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#stream.destroyed) this.#abort();
      else this.#stream.once('close', () => this.#abort());
    }
    return this.#controller.signal;
  }

  async readBody(limitBytes: number, gate?: BodyGate): Promise<Uint8Array> {
    if (Number(this.headers['content-length']) > limitBytes) throw new BodyTooLargeError(limitBytes);
    if (this.#stream.readableEnded) return new Uint8Array();
    const body = new BodyBuffer();
    let freeBytes = gate?.freeBytes ?? limitBytes;
    let refusal: unknown;
    const stream: AsyncIterable<Uint8Array> = this.#stream.iterator({ destroyOnReturn: false });
    try {
      for await (const chunk of stream) {
        body.add(chunk);
        if (body.length > limitBytes) throw (refusal = new BodyTooLargeError(limitBytes));
        if (body.length <= freeBytes || gate === undefined) continue;
        freeBytes = limitBytes;
        await gate.pass().catch((error: unknown) => {
          throw (refusal = error);
        });
      }
    } catch (error) {
      if (error !== refusal) throw new BodyBrokenOffError(error);
      this.#resetWhenAnswered();
      throw error;
    }
    return body.take();
  }

  bodyStream(): AsyncIterable<Uint8Array> {
    return this.#stream;
  }

  /** The rest of a refused body is not read: the response's end resets the stream, by RFC 9113 8.1. */
  #resetWhenAnswered(): void {
    this.#stream.once('finish', () => setImmediate(() => this.#stream.close(constants.NGHTTP2_NO_ERROR)));
  }

  #abort(): void {
    if (this.#stream.writableFinished && this.#stream.rstCode === constants.NGHTTP2_NO_ERROR) return;
    this.#controller!.abort(Object.assign(new Error('the client went away'), { code: 'ECONNRESET' }));
  }
}

/** Sends a response. Throws and rejects as `sendHttp1`. */
export function sendHttp2(
  stream: ServerHttp2Stream,
  { request, unsent }: { readonly request: HttpRequest; readonly unsent: UnsentAnswers },
  result: HttpResponse,
): Promise<void> | undefined {
  if (result.kind === 'upgrade') result.dispose?.();
  if (stream.destroyed || stream.closed || stream.headersSent) return undefined;
  // Closing lets running requests end; the client reconnects.
  if (result.kind !== 'upgrade' && result.headers['connection'] === 'close') stream.session?.close();
  if (result.kind === 'upgrade') {
    stream.respond({ ':status': 501 }, { endStream: true });
  } else if (result.kind === 'stream') {
    return sendStream(stream, result);
  } else {
    return sendBytes(stream, { head: request.method === 'HEAD', unsent }, result);
  }
  return undefined;
}

function sendBytes(
  stream: ServerHttp2Stream,
  { head, unsent }: { readonly head: boolean; readonly unsent: UnsentAnswers },
  result: Extract<HttpResponse, { kind: 'bytes' }>,
): Promise<void> | undefined {
  const { status, chunks } = result;
  const length = chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const bodiless = head || status === 204 || status === 304 || length === 0;
  const headers = headHeaders(result);
  if (status !== 204 && status !== 304) headers['content-length'] ??= String(length);
  stream.respond(headers, { endStream: bodiless });
  if (!bodiless && length > JOIN_BYTES) return writeInTurns(stream, chunks, unsent.add(stream, length));
  if (!bodiless) stream.end(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
  unsent.addStream(stream, bodiless ? 0 : length);
  return undefined;
}

async function sendStream(stream: ServerHttp2Stream, result: Extract<HttpResponse, { kind: 'stream' }>): Promise<void> {
  stream.respond(headHeaders(result));
  await runInto(result, (onBroken) => new CoalescingSink(stream, { onBroken }));
}

/** Headers of the connection itself, which HTTP/2 forbids. */
const CONNECTION_HEADERS = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

/**
 * The value as it can be sent: HTTP/2 of Node.js accepts any text and drops, or truncates, what no header can
 * contain.
 */
function sendable(value: string | readonly string[]): string | string[] {
  if (typeof value === 'string') return isPlain(value) ? value : sendableHeaderValue(value);
  return value.map((line) => (isPlain(line) ? line : sendableHeaderValue(line)));
}

const isPlain = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

function headHeaders(result: {
  readonly status: number;
  readonly headers: HttpHeaders;
}): Record<string, string | number | string[]> {
  const headers: Record<string, string | number | string[]> = { ':status': result.status };
  for (const [name, value] of Object.entries(result.headers)) {
    const lower = name.toLowerCase();
    if (!CONNECTION_HEADERS.has(lower)) headers[lower] = sendable(value);
  }
  return headers;
}
