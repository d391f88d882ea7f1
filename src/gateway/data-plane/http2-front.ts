/** Requests of HTTP/2 clients, each a stream. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Clock } from '../../platform/clock.ts';
import { endUntaken, type AnswerBody, type AnswerHead, type Exchange } from './exchange.ts';
import { headerCount, headerObject, type HeaderLines } from './header-lines.ts';

/** The properties of the connection's client. */
export interface Http2Peer {
  readonly clientAddress: string;
  readonly isTls: boolean;
  readonly clock: Clock;
}

export class Http2Exchange implements Exchange {
  readonly body: ServerHttp2Stream;
  readonly headers: HeaderLines;
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  readonly clientAddress: string;
  readonly isTls: boolean;
  readonly takesTrailers = true;
  readonly hasBody: boolean;
  readonly #clock: Clock;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, lines: HeaderLines, peer: Http2Peer) {
    this.body = stream;
    this.headers = lines;
    this.method = pseudo(headers, ':method');
    this.target = pseudo(headers, ':path');
    this.authority = pseudo(headers, ':authority') || (headers.host ?? '');
    this.clientAddress = peer.clientAddress;
    this.isTls = peer.isTls;
    this.#clock = peer.clock;
    this.hasBody = !stream.endAfterHeaders;
    // Kept for backends that accept trailers.
    stream.on('trailers', (_headers, _flags, ...[raw]: unknown[]) => {
      if (Array.isArray(raw)) Object.assign(stream, { rawTrailers: raw });
    });
  }

  onGone(callback: () => void): void {
    this.body.once('close', () => {
      if (!this.body.writableFinished || this.body.rstCode !== constants.NGHTTP2_NO_ERROR) callback();
    });
  }

  answer({ status, headers }: AnswerHead, hasBody: boolean): AnswerBody {
    const stream = this.body;
    if (stream.destroyed || stream.closed || stream.headersSent) return GONE;
    let trailers: HeaderLines = [];
    stream.respond({ ':status': status, ...headerObject(headers) }, { endStream: !hasBody, waitForTrailers: hasBody });
    if (hasBody)
      // Without trailers this sends an empty frame that ends the stream; closing the stream here would reset it.
      stream.once('wantTrailers', () => stream.sendTrailers(headerObject(trailers)));
    return {
      write: (chunk) => stream.writable && stream.write(chunk),
      onDrain(callback) {
        stream.on('drain', callback);
      },
      end: (lines) => {
        trailers = lines;
        if (hasBody) {
          stream.end();
          endUntaken(stream, this.#clock);
        }
        // The rest of the client's body is not read; this lets it stop without an error.
        else if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
      },
      abort(code = constants.NGHTTP2_INTERNAL_ERROR) {
        stream.close(code);
        // Buffered bytes would wait for a client that reads nothing.
        stream.destroy();
      },
    };
  }
}

const GONE: AnswerBody = {
  write: () => false,
  onDrain: () => undefined,
  end: () => undefined,
  abort: () => undefined,
};

/** The reason why a stream's headers are refused; undefined for valid ones. */
export function malformedHttp2Head(headers: IncomingHttpHeaders, lines: HeaderLines): string | undefined {
  const authority = pseudo(headers, ':authority');
  if (headerCount(lines, 'host') > 1) return 'the request names several hosts';
  if (authority !== '' && headers.host !== undefined && headers.host !== authority)
    return 'the request names two different hosts';
  const method = pseudo(headers, ':method');
  // Node's client sends it in capitals, so that routes would see another method than the backend.
  if (method !== method.toUpperCase()) return 'the method is not in capitals';
  return undefined;
}

function pseudo(headers: IncomingHttpHeaders, name: string): string {
  const value = (headers as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : '';
}
