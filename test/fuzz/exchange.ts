// One exchange is what a hostile client does once. It is plain JSON, so that a failure can be kept, shrunk and replayed.
import { createHash } from 'node:crypto';

/** Bytes as text of one character per byte (latin1); a pair is a text repeated so many times. */
export type Bytes = string | readonly (string | readonly [text: string, times: number])[];

/** A request with sound framing. */
export interface HttpExchange {
  readonly kind: 'http';
  readonly over: 'h1' | 'h2';
  /** One of the target's doors; absent: its first. */
  readonly to?: string;
  readonly method: string;
  readonly path: Bytes;
  readonly headers: readonly (readonly [name: string, value: Bytes])[];
  readonly body?: Bytes;
}

/** Bytes on a connection of its own: broken framing, pipelines, upgrades, HTTP/2 frames. */
export interface RawExchange {
  readonly kind: 'raw';
  readonly protocol: 'http/1.1' | 'h2';
  readonly to?: string;
  /** Written one after the other; the next waits for some answer, or a moment. */
  readonly parts: readonly Bytes[];
}

/** One DNS message, or a stream of bytes over TCP. */
export interface DnsExchange {
  readonly kind: 'dns';
  readonly over: 'udp' | 'tcp';
  readonly bytes: Bytes;
}

/** One gRPC call whose HTTP/2 is sound; headers, framing of messages and messages are not. */
export interface GrpcExchange {
  readonly kind: 'grpc';
  readonly to: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly parts: readonly Bytes[];
}

/** What a peer that the target calls does with a call. */
export interface PeerAnswer {
  /** `answer`: data and trailers; `cut`: data and no trailers; `page`: HTTP that is no gRPC. */
  readonly how: 'answer' | 'cut' | 'reset' | 'close' | 'hang' | 'page';
  readonly data: Bytes;
  readonly trailers: readonly (readonly [name: string, value: string])[];
}

/** As long as the name that takes its place: lengths before it stay right. */
export const SOCKET_NAME = 'plugin-xxxxxxxx.sock';

/** A plugin that comes, answers as it likes and goes. */
export interface PluginExchange {
  readonly kind: 'plugin';
  /** It registers by a call with this message, in which SOCKET_NAME stands for its socket's; absent: by being there. */
  readonly registration?: Bytes;
  /** By `package.Service/Method`. */
  readonly answers: Readonly<Record<string, PeerAnswer>>;
}

/** Well-known peers of the target answer their next calls like this; then a client makes the target call them. */
export interface PeersExchange {
  readonly kind: 'peers';
  readonly answers: readonly (readonly [method: string, answer: PeerAnswer])[];
  readonly requests: readonly HttpExchange[];
}

export type Exchange = HttpExchange | RawExchange | DnsExchange | GrpcExchange | PluginExchange | PeersExchange;

/** What came back. `closed`: the peer ended the connection without a whole answer; `cut`: we ended it, as planned. */
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

/** The text with long runs of a short unit written as pairs: hostile bodies mostly repeat themselves. */
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
