/** A request of a client and the way to its answer, the same over HTTP/1.1 and HTTP/2. */
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../platform/clock.ts';
import type { HeaderLines } from './header-lines.ts';

/** How long the end of an answer waits for its client: it is one of the requests that may be under way. */
const UNTAKEN_MS = 60_000;

export interface AnswerHead {
  readonly status: number;
  readonly headers: HeaderLines;
}

/** Where an answer's body goes. */
export interface AnswerBody {
  /** False: wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  onDrain(callback: () => void): void;
  /** The client is given up where it does not take what is left in a minute. */
  end(trailers: HeaderLines): void;
  /** Tells the client that the answer is not whole. `code`: HTTP/2's error code, where the backend gave one. */
  abort(code?: number): void;
}

/** One request. */
export interface Exchange {
  readonly method: string;
  /** As the client sent it. */
  readonly target: string;
  /** Host and port that the client asked for. */
  readonly authority: string;
  readonly headers: HeaderLines;
  /** False: the body is empty. */
  readonly hasBody: boolean;
  readonly body: Readable;
  readonly clientAddress: string;
  readonly isTls: boolean;
  /** Whether the client takes trailers. */
  readonly takesTrailers: boolean;
  /** Calls back once when the client is gone before its answer is whole. */
  onGone(callback: () => void): void;
  /** Begins the answer. `hasBody` is false for an answer that ends with its head. */
  answer(head: AnswerHead, hasBody: boolean): AnswerBody;
}

/** Gives up an answer of which all is written and that does not close in time. */
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

/** Answers by a short text of this proxy's own. */
export function answerText(exchange: Exchange, status: number, text: string): void {
  const bytes = Buffer.from(`${text}\n`);
  const headers = ['content-type', 'text/plain; charset=utf-8', 'content-length', String(bytes.length)];
  const body = exchange.answer({ status, headers }, exchange.method !== 'HEAD');
  if (exchange.method !== 'HEAD') body.write(bytes);
  body.end([]);
}
