/** Answers the requests and upgrades of HTTP/1.1 connections. */
import * as http from 'node:http';
import type { Socket } from 'node:net';
import type { HttpHandler, HttpResponse } from '../http.ts';
import { background } from '../unexpected.ts';
import { Pipelines } from './pipelines.ts';
import { Http1Request, sendHttp1 } from './http1.ts';
import { requestTurn } from './request-turns.ts';
import { duplexOf, endUnread } from './streams.ts';
import type { UnsentAnswers } from './unsent-answers.ts';
import type { AnswerFailures } from './answer-failures.ts';
import { BROKEN_ANSWER, isOfConnection } from './answer-failures.ts';
import { flowOf } from './client-flow.ts';

export class Http1Connections {
  readonly #handler: HttpHandler;
  readonly #failures: AnswerFailures;
  readonly #unsent: UnsentAnswers;
  readonly #pipelines = new Pipelines();

  constructor(handler: HttpHandler, failures: AnswerFailures, unsent: UnsentAnswers) {
    this.#handler = handler;
    this.#failures = failures;
    this.#unsent = unsent;
  }

  onRequest(message: http.IncomingMessage, response: http.ServerResponse): void {
    goOnReading(message.socket);
    this.#pipelines.enter(message, response, () => {
      const due = requestTurn(flowOf(message.socket));
      if (due === undefined) this.#serve(message, response);
      else {
        const serve = (): void => {
          if (!response.destroyed) this.#serve(message, response);
        };
        background(this.#failures.log, 'a request could not be served', due.then(serve));
      }
    });
  }

  #serve(message: http.IncomingMessage, response: http.ServerResponse): void {
    const request = new Http1Request(message, response);
    try {
      const result = this.#handler(request);
      if (result instanceof Promise) this.#failures.watch(request, this.#answerHttp1(response, request, result));
      else
        answerHttp1(response, result, this.#unsent)?.catch((error: unknown) =>
          this.#breakHttp1(response, request, error),
        );
    } catch (error) {
      this.#breakHttp1(response, request, error);
    }
  }

  async #answerHttp1(
    response: http.ServerResponse,
    request: Http1Request,
    result: Promise<HttpResponse>,
  ): Promise<void> {
    try {
      await answerHttp1(response, await result, this.#unsent);
    } catch (error) {
      this.#breakHttp1(response, request, error);
    }
  }

  /**
   * Sends a 500 if no head was sent; otherwise closes the connection, so that the client notices the incomplete
   * response.
   */
  #breakHttp1(response: http.ServerResponse, request: Http1Request, error: unknown): void {
    const isLate = response.destroyed || response.headersSent;
    this.#failures.reportUnlessLate(request, error, isLate);
    if (response.destroyed) return;
    if (response.headersSent) response.destroy();
    else this.#failures.watch(request, sendHttp1(response, BROKEN_ANSWER, this.#unsent));
  }

  async onUpgrade(message: http.IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => undefined); // seen by the duplex, or nobody waits for it
    if (head.length > 0) socket.unshift(head);
    const request = new Http1Request(message, undefined);
    let result: HttpResponse;
    try {
      result = await this.#handler(request);
    } catch (error) {
      this.#failures.report(request, error);
      result = BROKEN_ANSWER;
    }
    if (result.kind !== 'upgrade') return this.#refuseUpgrade(message, socket, { request, result });
    try {
      if (socket.destroyed) result.dispose?.();
      else await acceptUpgrade(socket, result);
    } catch (error) {
      if (!isOfConnection(error)) this.#failures.report(request, error);
    }
  }

  #refuseUpgrade(
    message: http.IncomingMessage,
    socket: Socket,
    { request, result }: { request: Http1Request; result: HttpResponse },
  ): Promise<void> | undefined {
    if (socket.destroyed) return undefined;
    const response = new http.ServerResponse(message);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => endUnread(socket));
    // Node.js no longer handles the connection: it reports neither drain nor the client's end.
    socket.on('drain', () => response.emit('drain')).resume();
    return this.#answerHttp1(response, request, Promise.resolve(result));
  }
}

/**
 * Continues reading during a large response. Node.js stops reading and its parser, but what TLS has already decrypted
 * reaches the parser and ends the connection: a body right after its head. Reading may continue unless too many
 * responses wait.
 */
function goOnReading(socket: Socket): void {
  if (socket.isPaused()) socket.emit('drain');
}

/** `Upgrade: h2c` is an offer that may be ignored, not a request to leave HTTP. */
export function wantsSwitch(message: http.IncomingMessage): boolean {
  return message.headers.upgrade?.toLowerCase() !== 'h2c';
}

function answerHttp1(
  response: http.ServerResponse,
  result: HttpResponse,
  unsent: UnsentAnswers,
): Promise<void> | undefined {
  if (result.kind === 'upgrade') result.dispose?.();
  return sendHttp1(response, result.kind === 'upgrade' ? NOT_AN_UPGRADE : result, unsent);
}

async function acceptUpgrade(socket: Socket, result: Extract<HttpResponse, { kind: 'upgrade' }>): Promise<void> {
  const duplex = duplexOf(socket);
  try {
    await result.accept(duplex);
    endUnread(socket);
  } catch (error) {
    duplex.destroy(error as Error);
    throw error;
  }
}

const NOT_AN_UPGRADE = {
  kind: 'bytes',
  status: 400,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  chunks: [Buffer.from('you must request an upgrade\n')],
} as const satisfies HttpResponse;
