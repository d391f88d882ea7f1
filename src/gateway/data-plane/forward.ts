/**
 * Forwards one request to a backend and its response back. When an endpoint cannot be reached, the next one is tried, as nothing
 * was sent yet; when a kept connection turns out to be closed, an idempotent request is sent again. The client sees later
 * failures: 502 before the response's head, a cut response after it.
 */
import {
  NotSentError,
  StaleConnectionError,
  type BackendAnswer,
  type BackendCall,
  type BackendRequest,
} from './backends/backend-call.ts';
import type { Backends } from './backends/backends.ts';
import type { CancelTimer } from '../../platform/clock.ts';
import type { Backend, Route } from '../snapshot/snapshot.ts';
import { answerText, requestTrailers, type AnswerBody, type Exchange } from './exchange.ts';
import { applyChanges, responseLines, trailerLines } from './header-lines.ts';
import type { Mirror } from './mirror.ts';
import { pump, type PumpDeps } from './pump.ts';

/** Idempotent methods (RFC 9110, 9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

export interface ForwardDeps extends PumpDeps {
  readonly backends: Backends;
}

/** A request with its route and backend. */
export interface RoutedRequest {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly backend: Backend;
  readonly request: Omit<BackendRequest, 'sendBody' | 'hasBody' | 'takesTrailers' | 'method'>;
  /** Changes of the response's headers, in order. */
  readonly responseHeaders: readonly Parameters<typeof applyChanges>[1][];
  /** Backends that receive a copy of the request and whose responses are dropped. */
  readonly mirrors: readonly Mirror[];
}

export async function forward(deps: ForwardDeps, forwarded: RoutedRequest): Promise<void> {
  await new Forwarding(deps, forwarded).run();
}

class Forwarding {
  readonly #deps: ForwardDeps;
  readonly #forwarded: RoutedRequest;
  #call: BackendCall | undefined;
  #answerBody: AnswerBody | undefined;
  readonly #timers: CancelTimer[] = [];
  #cancelResponseTimer: CancelTimer = () => undefined;
  #hasAnswer = false;
  #isOver = false;
  #isBodyBegun = false;

  constructor(deps: ForwardDeps, forwarded: RoutedRequest) {
    this.#deps = deps;
    this.#forwarded = forwarded;
  }

  async run(): Promise<void> {
    const { exchange, route } = this.#forwarded;
    exchange.onGone(() => this.#end());
    // After the end of the whole body this has no effect.
    exchange.body.once('close', () => this.#cutMirrors());
    this.#failAfter(route.requestTimeoutMs);
    if (!exchange.hasBody) this.#startResponseTimer();
    try {
      const answer = await this.#ask();
      this.#hasAnswer = true;
      this.#cancelResponseTimer();
      if (!this.#isOver) this.#reply(answer);
    } catch (error) {
      if (!this.#isOver) this.#fail(502, 'the backend cannot be reached');
      if (!(error instanceof Error)) throw error;
    }
  }

  /** The timeout begins when the whole request has been sent, because the client decides how long its body takes. */
  #startResponseTimer(): void {
    if (!this.#isOver && !this.#hasAnswer)
      this.#cancelResponseTimer = this.#failAfter(this.#forwarded.route.responseTimeoutMs);
  }

  #failAfter(ms = 0): CancelTimer {
    if (ms <= 0) return () => undefined;
    const cancel = this.#deps.clock.setTimer(ms, () => this.#fail(504, 'no answer in time'));
    this.#timers.push(cancel);
    return cancel;
  }

  /** Tries the endpoints in order until one accepts the request. */
  async #ask(): Promise<BackendAnswer> {
    const { exchange, backend } = this.#forwarded;
    const { backends } = this.#deps;
    let lastError: unknown = new Error('the backend has no endpoints');
    for (const endpoint of backends.order(backend, exchange.clientAddress)) {
      for (let isAgain = false; ; isAgain = true) {
        if (this.#isOver) throw new Error('the client is gone');
        this.#call = backends.call(endpoint, this.#request(), backend);
        try {
          return await this.#call.answer;
        } catch (error) {
          lastError = error;
          if (error instanceof StaleConnectionError && !isAgain && this.#mayRepeat()) continue;
          if (!(error instanceof NotSentError) || this.#isBodyBegun) throw error;
          backends.failed(endpoint);
          break;
        }
      }
    }
    throw lastError;
  }

  #mayRepeat(): boolean {
    const { exchange } = this.#forwarded;
    return IDEMPOTENT.has(exchange.method) && !exchange.hasBody;
  }

  #request(): BackendRequest {
    const { exchange, request, mirrors, route } = this.#forwarded;
    const { method, hasBody, takesTrailers } = exchange;
    return {
      ...request,
      method,
      hasBody,
      takesTrailers,
      sendBody: (target) => {
        this.#isBodyBegun = true;
        if (mirrors.length > 0)
          exchange.body.on('data', (chunk: Buffer) => {
            for (const mirror of mirrors) mirror.write(chunk);
          });
        pump(exchange.body, target, this.#deps, {
          onEnd: () => {
            for (const mirror of mirrors) mirror.end();
            target.end(trailerLines(requestTrailers(exchange.body)));
            this.#startResponseTimer();
          },
          onStalled: () => this.#fail(504, 'the backend does not take the request'),
          onIdle: route.responseTimeoutMs === 0 ? undefined : () => this.#onBodyIdle(),
        });
      },
    };
  }

  /** A client may be silent once its response has begun, as in a gRPC stream. */
  #onBodyIdle(): void {
    if (!this.#hasAnswer) this.#fail(408, 'the request does not go on');
  }

  #reply({ status, headers, hasBody, body, trailers, errorCode }: BackendAnswer): void {
    const { exchange, responseHeaders } = this.#forwarded;
    let lines = responseLines(headers);
    for (const changes of responseHeaders) lines = applyChanges(lines, changes);
    const target = exchange.answer({ status, headers: lines }, hasBody);
    this.#answerBody = target;
    let isWhole = false;
    const onEnd = (): void => {
      if (this.#isOver) return;
      isWhole = true;
      this.#isOver = true;
      this.#cancelTimers();
      target.end(trailerLines(trailers()));
    };
    const onCut = (): void => {
      if (isWhole || this.#isOver) return;
      this.#isOver = true;
      this.#cancelTimers();
      this.#cutMirrors();
      target.abort(errorCode());
    };
    body.on('error', onCut);
    body.once('close', onCut);
    pump(body, target, this.#deps, { onEnd, onStalled: () => this.#end() });
  }

  #fail(status: number, text: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimers();
    this.#cutMirrors();
    this.#call?.cancel();
    if (this.#answerBody === undefined) answerText(this.#forwarded.exchange, status, text);
    else this.#answerBody.abort();
  }

  #cancelTimers(): void {
    for (const cancel of this.#timers) cancel();
  }

  #cutMirrors(): void {
    for (const mirror of this.#forwarded.mirrors) mirror.cut();
  }

  /** The client no longer waits for the response. */
  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimers();
    this.#cutMirrors();
    this.#call?.cancel();
    this.#answerBody?.abort();
  }
}
