/**
 * Requests of HTTP/1.1 clients. Node's parser is strict: requests with two lengths or an ambiguous end are refused before this.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../platform/clock.ts';
import { headerCount, type HeaderLines } from './header-lines.ts';
import { endUntaken, type AnswerBody, type AnswerHead, type Exchange } from './exchange.ts';

/** A client that sends nothing within a body for this long is disconnected. */
const BODY_IDLE_MS = 60_000;

export class Http1Exchange implements Exchange {
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly authority: string;
  readonly hasBody: boolean;

  constructor(message: IncomingMessage, response: ServerResponse, clock: Clock) {
    this.#message = message;
    this.#response = response;
    this.#clock = clock;
    this.authority = message.headers.host ?? '';
    this.hasBody = hasBody(message);
    if (!this.hasBody) return;
    message.setTimeout(BODY_IDLE_MS, () => message.destroy());
    message.once('end', () => message.socket.setTimeout(0));
  }

  get method(): string {
    return this.#message.method ?? 'GET';
  }

  get target(): string {
    return this.#message.url ?? '/';
  }

  get headers(): HeaderLines {
    return this.#message.rawHeaders;
  }

  get body(): IncomingMessage {
    return this.#message;
  }

  get clientAddress(): string {
    return this.#message.socket.remoteAddress ?? '';
  }

  get isTls(): boolean {
    return (this.#message.socket as Partial<TLSSocket>).encrypted === true;
  }

  get takesTrailers(): boolean {
    return /\btrailers\b/i.test(String(this.#message.headers.te ?? ''));
  }

  onGone(callback: () => void): void {
    this.#response.once('close', () => {
      if (!this.#response.writableFinished) callback();
    });
  }

  answer({ status, headers }: AnswerHead, hasAnswerBody: boolean): AnswerBody {
    const response = this.#response;
    // The unread rest of a body would be read as the next request.
    if (this.hasBody && !this.#message.complete) response.shouldKeepAlive = false;
    response.writeHead(status, [...headers]);
    if (!hasAnswerBody) response.flushHeaders();
    return {
      write: (chunk) => response.write(chunk),
      onDrain(callback) {
        response.on('drain', callback);
      },
      end: (trailers) => {
        if (trailers.length > 0 && response.chunkedEncoding) response.addTrailers(pairs(trailers));
        response.end();
        endUntaken(response, this.#clock);
      },
      abort() {
        response.destroy();
      },
    };
  }
}

/** Whether a request has a body. Node's `complete` is not reliable before the body was read. */
export function hasBody({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  return length !== undefined && length !== '0';
}

/** The reason why a request is refused before it is routed; undefined for a valid one. */
export function malformedHead({ rawHeaders, httpVersion, headers }: IncomingMessage): string | undefined {
  if (headerCount(rawHeaders, 'host') > 1) return 'the request names several hosts';
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined) return 'HTTP/1.0 knows no transfer encoding';
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return 'the transfer encoding is not chunked';
  return undefined;
}

function pairs(lines: HeaderLines): [string, string][] {
  const list: [string, string][] = [];
  for (let at = 0; at < lines.length; at += 2) list.push([lines[at]!, lines[at + 1]!]);
  return list;
}
