/** Answers the streams of HTTP/2 connections. */
import { performServerHandshake, type ServerHttp2Stream } from 'node:http2';
import { type TLSSocket } from 'node:tls';
import type { HttpHandler, HttpResponse } from '../http.ts';
import { Http2Request, sendHttp2 } from './http2.ts';
import { Http2Sessions } from './http2-sessions.ts';
import { requestTurn, serveInTurn } from './request-turns.ts';
import type { UnsentAnswers } from './unsent-answers.ts';
import type { AnswerFailures } from './answer-failures.ts';
import { BROKEN_ANSWER } from './answer-failures.ts';
import { flowOf } from './client-flow.ts';

const DEFAULT_MAX_STREAMS = 250;

export class Http2Connections {
  readonly #handler: HttpHandler;
  readonly #failures: AnswerFailures;
  readonly #unsent: UnsentAnswers;
  readonly #maxStreams: number;
  readonly #sessions = new Http2Sessions();

  constructor(handler: HttpHandler, failures: AnswerFailures, unsent: UnsentAnswers, maxStreams = DEFAULT_MAX_STREAMS) {
    this.#handler = handler;
    this.#failures = failures;
    this.#unsent = unsent;
    this.#maxStreams = maxStreams;
  }

  /** Lets streams end and accepts no new ones. */
  close(): void {
    this.#sessions.close();
  }

  destroy(): void {
    this.#sessions.destroy();
  }

  /** Takes over a connection that has chosen HTTP/2. */
  start(socket: TLSSocket): void {
    const settings = { maxConcurrentStreams: this.#maxStreams };
    const session = performServerHandshake(socket, { settings, maxSessionMemory: 64 });
    this.#sessions.add(session, socket);
    session.on('error', () => undefined); // the streams of the session end with it
    session.on('stream', (stream, headers, ...[, lines]) => {
      this.#sessions.began(session, stream);
      stream.on('error', () => undefined); // reported by the request's signal and body
      if (socket.destroyed) return;
      const flow = flowOf(socket);
      const due = requestTurn(flow);
      const request = new Http2Request(stream, { headers, lines, socket });
      if (due === undefined) return this.#serveHttp2(stream, request);
      const served = serveInTurn(stream, { flow, lines, due }, () => {
        if (!socket.destroyed) this.#serveHttp2(stream, request);
      });
      if (served !== undefined) this.#failures.watch(request, served);
    });
  }

  #serveHttp2(stream: ServerHttp2Stream, request: Http2Request): void {
    try {
      const result = this.#handler(request);
      if (result instanceof Promise) this.#failures.watch(request, this.#answerHttp2(stream, request, result));
      else
        this.#sendHttp2(stream, request, result)?.catch((error: unknown) => this.#breakHttp2(stream, request, error));
    } catch (error) {
      this.#breakHttp2(stream, request, error);
    }
  }

  async #answerHttp2(stream: ServerHttp2Stream, request: Http2Request, result: Promise<HttpResponse>): Promise<void> {
    try {
      await this.#sendHttp2(stream, request, await result);
    } catch (error) {
      this.#breakHttp2(stream, request, error);
    }
  }

  #sendHttp2(stream: ServerHttp2Stream, request: Http2Request, result: HttpResponse): Promise<void> | undefined {
    return sendHttp2(stream, { request, unsent: this.#unsent }, result);
  }

  #breakHttp2(stream: ServerHttp2Stream, request: Http2Request, error: unknown): void {
    const isLate = stream.destroyed || stream.headersSent;
    this.#failures.reportUnlessLate(request, error, isLate);
    if (stream.destroyed) return;
    // Resetting the stream tells the client that the response is incomplete; `close` would end it properly first.
    if (stream.headersSent) stream.destroy(error as Error);
    else this.#failures.watch(request, this.#sendHttp2(stream, request, BROKEN_ANSWER));
  }
}
