/** HTTP/1.1 requests and responses of node:http as the port's. The hot path makes one object per request and no closure. */
import type { IncomingMessage, ServerResponse } from 'node:http';
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
import { BodyBuffer } from './body-buffer.ts';
import { writeHead } from './response-head.ts';
import { CoalescingSink, runInto, writeInTurns } from './streams.ts';
import { gaveRefusedCertificate, verifiedPeer } from './tls.ts';
import type { UnsentAnswers } from './unsent-answers.ts';

const emptyBody: Promise<Uint8Array> = Promise.resolve(new Uint8Array());
/** Up to this size the copy as text costs less than a second write. */
const TEXT_BYTES = 16 * 1024;
/** Responses up to this size are joined and written at once: one write is cheaper than a copy. */
export const JOIN_BYTES = 256 * 1024;

/** Shorter responses fit into the buffers of each connection. */
const COUNTED_BYTES = 32 * 1024;

/** A request as node:http brought it. */
export class Http1Request implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly wantsUpgrade: boolean;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse | undefined;
  #controller: AbortController | undefined;

  constructor(message: IncomingMessage, response: ServerResponse | undefined) {
    const target = originForm(message.url ?? '/');
    const mark = target.indexOf('?');
    this.method = message.method ?? 'GET';
    this.path = mark < 0 ? target : target.slice(0, mark);
    this.query = mark < 0 ? '' : target.slice(mark + 1);
    this.headers = message.headers as Record<string, string | undefined>;
    this.wantsUpgrade = response === undefined;
    this.#message = message;
    this.#response = response;
  }

  headerLines(name: string): readonly string[] {
    return this.#message.headersDistinct[name] ?? [];
  }

  get remoteAddress(): string {
    return plainAddress(this.#message.socket.remoteAddress);
  }

  get peerCertificate(): PeerCertificate | undefined {
    return verifiedPeer(this.#message.socket);
  }

  get refusedCertificate(): boolean {
    return gaveRefusedCertificate(this.#message.socket);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      const watched = this.#response ?? this.#message.socket;
      if (watched.destroyed) this.#abort();
      else watched.once('close', () => this.#abort());
    }
    return this.#controller.signal;
  }

  readBody(limitBytes: number, gate?: BodyGate): Promise<Uint8Array> {
    const length = this.headers['content-length'];
    if (length === undefined && this.headers['transfer-encoding'] === undefined) return emptyBody;
    if (Number(length) > limitBytes) {
      this.#endConnection();
      return Promise.reject(new BodyTooLargeError(limitBytes));
    }
    return this.#collect(limitBytes, gate);
  }

  bodyStream(): AsyncIterable<Uint8Array> {
    return this.#message;
  }

  /** Uses events: an iterator over a body that is mostly one chunk costs more than reading it. */
  #collect(limitBytes: number, gate: BodyGate | undefined): Promise<Uint8Array> {
    const message = this.#message;
    return new Promise((resolve, reject) => {
      const body = new BodyBuffer();
      let freeBytes = gate?.freeBytes ?? limitBytes;
      const refuse = (error: Error): void => {
        message.off('data', onData);
        message.pause();
        this.#endConnection();
        reject(error);
      };
      const fail = (error: Error): void => refuse(new BodyBrokenOffError(error));
      const onData = (chunk: Uint8Array): void => {
        body.add(chunk);
        if (body.length > limitBytes) return refuse(new BodyTooLargeError(limitBytes));
        if (body.length <= freeBytes || gate === undefined) return;
        freeBytes = limitBytes;
        message.pause();
        gate.pass().then(() => message.resume(), refuse);
      };
      message
        .on('data', onData)
        .once('end', () => resolve(body.take()))
        .once('error', fail)
        .once(
          'close',
          () => message.readableEnded || fail(Object.assign(new Error('aborted'), { code: 'ECONNRESET' })),
        );
      if (message.destroyed && !message.readableEnded)
        fail(message.errored ?? Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
    });
  }

  /** Ends the connection after the response: the rest of the body is not read, so no other request can follow. */
  #endConnection(): void {
    if (this.#response !== undefined) this.#response.shouldKeepAlive = false;
  }

  #abort(): void {
    if (this.#response?.writableFinished) return;
    this.#controller!.abort(Object.assign(new Error('the client went away'), { code: 'ECONNRESET' }));
  }
}

/**
 * Sends a response. `upgrade` responses are handled elsewhere. Throws before sending anything when the head is
 * invalid; a returned promise rejects when sending fails later.
 */
export function sendHttp1(
  response: ServerResponse,
  result: Exclude<HttpResponse, { kind: 'upgrade' }>,
  unsent: UnsentAnswers,
): Promise<void> | undefined {
  if (response.destroyed) return undefined;
  if (result.kind === 'stream') return sendStream(response, result);
  leaveUnreadBody(response);
  let length = 0;
  for (const chunk of result.chunks) length += chunk.byteLength;
  writeHead(response, result.status, withLength(result, length));
  if (length > 0 && length <= TEXT_BYTES) {
    // As text, byte for byte: Node.js joins it with the head to one write, which buffers would split.
    response.end(latin1Of(result.chunks), 'latin1');
  } else if (length <= JOIN_BYTES) {
    response.end(result.chunks.length <= 1 ? result.chunks[0] : Buffer.concat(result.chunks, length));
    if (length > COUNTED_BYTES) unsent.add(response, length);
  } else {
    return writeInTurns(response, result.chunks, unsent.add(response, length));
  }
  return undefined;
}

/** Ends the connection: the body is not read, and a chunked body has no known end. */
function leaveUnreadBody(response: ServerResponse): void {
  const { complete, headers } = response.req;
  if (!complete && headers['transfer-encoding'] !== undefined) response.shouldKeepAlive = false;
}

function latin1Of(chunks: readonly Uint8Array[]): string {
  let text = '';
  for (const { buffer, byteOffset, byteLength } of chunks)
    text += Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
  return text;
}

type StreamResult = Extract<HttpResponse, { kind: 'stream' }>;

async function sendStream(response: ServerResponse, result: StreamResult): Promise<void> {
  response.on('error', () => undefined); // the sink reports a disconnected client
  writeHead(response, result.status, result.headers as NodeHeaders);
  await runInto(result, (onBroken) => {
    const flushesHead = (): void => response.flushHeaders();
    return new CoalescingSink(response, { onBroken, onEmptyFlush: flushesHead, framedTarget: directTo(response) });
  });
}

/**
 * The connection itself, once the head was sent: Node's response writes each chunk in four pieces, which costs a
 * server with many watches at every event. Undefined while an earlier response uses the connection.
 */
function directTo(response: ServerResponse): () => Socket | undefined {
  let asked = false;
  let direct: Socket | undefined;
  return () => {
    // The first write takes the head along; nothing buffered in the response may be overtaken.
    if (asked && direct === undefined && response.chunkedEncoding && response.writableLength === 0)
      direct = response.socket ?? undefined;
    asked = true;
    return direct !== undefined && direct === response.socket && !direct.destroyed ? direct : undefined;
  };
}

type NodeHeaders = Record<string, string | string[]>;

function withLength(result: { readonly status: number; readonly headers: HttpHeaders }, length: number): NodeHeaders {
  const { status, headers } = result;
  if (headers['content-length'] !== undefined || status === 204 || status === 304 || status < 200) {
    return headers as NodeHeaders;
  }
  return { ...(headers as NodeHeaders), 'content-length': String(length) };
}

/** `GET http://host/path` (as sent to proxies) means `/path`. */
function originForm(target: string): string {
  if (target.startsWith('/') || target === '*') return target;
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(.*)$/i.exec(target)?.[1];
  if (path === undefined) return `/${target}`;
  return path.startsWith('/') ? path : `/${path}`;
}

/** An IPv4 peer of a dual-stack socket in its own notation. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return '';
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}
