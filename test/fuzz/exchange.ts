// One exchange is one action of a hostile client. It is plain JSON, so that a failure can be stored, shrunk and replayed.
import { createHash } from 'node:crypto';

/** Bytes as text of one character per byte (latin1); a pair is a text with its number of repetitions. */
export type Bytes = string | readonly (string | readonly [text: string, times: number])[];

/** A request with valid framing. */
export interface HttpExchange {
  readonly kind: 'http';
  readonly over: 'h1' | 'h2';
  /** The name of one of the target's addresses; absent for the first. */
  readonly to?: string;
  readonly method: string;
  readonly path: Bytes;
  readonly headers: readonly (readonly [name: string, value: Bytes])[];
  readonly body?: Bytes;
}

/** Bytes on a separate connection: broken framing, pipelines, upgrades, HTTP/2 frames. */
export interface RawExchange {
  readonly kind: 'raw';
  readonly protocol: 'http/1.1' | 'h2';
  readonly to?: string;
  /** Written one after the other; each waits for a response to the one before, or for a moment. */
  readonly parts: readonly Bytes[];
}

/** One DNS message, or a stream of bytes over TCP. */
export interface DnsExchange {
  readonly kind: 'dns';
  readonly over: 'udp' | 'tcp';
  readonly bytes: Bytes;
}

/** A gRPC call with valid HTTP/2; headers, message framing and messages may be invalid. */
export interface GrpcExchange {
  readonly kind: 'grpc';
  readonly to: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly parts: readonly Bytes[];
}

/** The response of a peer to a call of the target. */
export interface PeerAnswer {
  /** `answer`: data and trailers; `cut`: data without trailers; `page`: HTTP that is no gRPC. */
  readonly how: 'answer' | 'cut' | 'reset' | 'close' | 'hang' | 'page';
  readonly data: Bytes;
  readonly trailers: readonly (readonly [name: string, value: string])[];
}

/** As long as the name that replaces it, so that lengths before it stay right. */
export const SOCKET_NAME = 'plugin-xxxxxxxx.sock';

/** A plugin that registers, responds in any way, and ends. */
export interface PluginExchange {
  readonly kind: 'plugin';
  /**
   * It registers by a call with this message, in which SOCKET_NAME stands for its socket's; absent when the socket alone
   * registers it.
   */
  readonly registration?: Bytes;
  /** By `package.Service/Method`. */
  readonly answers: Readonly<Record<string, PeerAnswer>>;
}

/** Responses of the target's regular peers to their next calls, and requests that cause the calls. */
export interface PeersExchange {
  readonly kind: 'peers';
  readonly answers: readonly (readonly [method: string, answer: PeerAnswer])[];
  readonly requests: readonly HttpExchange[];
}

export type Exchange = HttpExchange | RawExchange | DnsExchange | GrpcExchange | PluginExchange | PeersExchange;

/** The response. `closed`: the peer ended the connection without a complete response; `cut`: the client ended it, as planned. */
export interface Answer {
  readonly outcome: 'answered' | 'closed' | 'cut' | 'late';
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly durationMs: number;
}

export function bytesOf(bytes: Bytes): Buffer {
  if (typeof bytes === 'string') return Buffer.from(bytes, 'latin1');
  return Buffer.from(bytes.map((one) => (typeof one === 'string' ? one : one[0].repeat(one[1]))).join(''), 'latin1');
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** The text with long runs of a short unit written as pairs, because hostile bodies mostly repeat. */
export function folded(text: string): Bytes {
  const parts: (string | readonly [string, number])[] = [];
  let from = 0;
  for (const match of text.matchAll(/([^]{1,24}?)\1{15,}/g)) {
    if (match.index > from) parts.push(text.slice(from, match.index));
    parts.push([match[1]!, match[0].length / match[1]!.length]);
    from = match.index + match[0].length;
  }
  if (parts.length === 0) return text;
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

/** A short name of an exchange, for logs. */
export function nameOf(exchange: Exchange): string {
  const digest = createHash('sha256').update(JSON.stringify(exchange)).digest('hex').slice(0, 8);
  if (exchange.kind !== 'http') return `${exchange.kind} ${digest}`;
  const path = bytesOf(exchange.path).toString('latin1');
  return `${exchange.method} ${path.length > 160 ? `${path.slice(0, 160)}…` : path} (${exchange.over}, ${digest})`;
}
