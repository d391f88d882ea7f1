/** A client's request and the means to respond to it, the same for HTTP/1.1 and HTTP/2. */
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../platform/clock.ts';
import type { HeaderLines } from './header-lines.ts';

/** The time in which a client must read the end of a response, which still counts as a request in progress. */
const UNTAKEN_MS = 60_000;

export interface AnswerHead {
  readonly status: number;
  readonly headers: HeaderLines;
}

/** The body of a response. */
export interface AnswerBody {
  /** Returns false when the caller must wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  onDrain(callback: () => void): void;
  /** The connection is closed when the client does not read the rest within a minute. */
  end(trailers: HeaderLines): void;
  /** Signals to the client that the response is incomplete. `code` is the backend's HTTP/2 error code, if any. */
  abort(code?: number): void;
}

/** One request with its response. */
export interface Exchange {
  readonly method: string;
  /** The target as the client sent it. */
  readonly target: string;
  /** Host and port that the client requested. */
  readonly authority: string;
  readonly headers: HeaderLines;
  /** False when the body is empty. */
  readonly hasBody: boolean;
  readonly body: Readable;
  readonly clientAddress: string;
  readonly isTls: boolean;
  /** Whether the client accepts trailers. */
  readonly takesTrailers: boolean;
  /** Calls `callback` once when the client disconnects before the response is complete. */
  onGone(callback: () => void): void;
  /** Begins the response. `hasBody` is false for a response without a body. */
  answer(head: AnswerHead, hasBody: boolean): AnswerBody;
}

/** Closes a completely written response that the client does not read in time. */
export function endUntaken(answer: Writable, clock: Clock): void {
  answer.once(
    'close',
    clock.setTimer(UNTAKEN_MS, () => answer.destroy()),
  );
}

/** Trailers of the request, once its body has ended. */
export function requestTrailers(body: Readable): HeaderLines {
  return (body as { rawTrailers?: string[] }).rawTrailers ?? [];
}

/** Responds with a short text of the proxy itself. */
export function answerText(exchange: Exchange, status: number, text: string): void {
  const bytes = Buffer.from(`${text}\n`);
  const headers = ['content-type', 'text/plain; charset=utf-8', 'content-length', String(bytes.length)];
  const body = exchange.answer({ status, headers }, exchange.method !== 'HEAD');
  if (exchange.method !== 'HEAD') body.write(bytes);
  body.end([]);
}
