/**
 * The one HTTPS client for webhooks of all kinds (admission, conversion, authentication, authorization): posts a JSON
 * object, returns the JSON object in the response. Connections are kept per address and trust. Upstream: the REST client of
 * apiserver/pkg/util/webhook.
 *
 * Errors are {@link WebhookCallError}s with upstream's texts; the deadline covers the whole exchange. A kept connection
 * that the other side closed just then is tried once more: reviews are to be idempotent.
 */
import { onAbort } from '../../base/abort.ts';
import { stepByStep } from '../../base/steps.ts';
import { stringifyJson } from '../../api/codec/json.ts';
import { jsonSteps } from '../../api/codec/json-steps.ts';
import { isObject, type JsonObject } from '../../api/codec/own-property.ts';
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { AnswerTooLongError, answerText } from '../../platform/answer-text.ts';
import type { HttpAnswer, Net } from '../../platform/net.ts';
import { formatTraceparent } from '../../platform/trace-context.ts';
import type { Span, SpanAttributes } from '../../platform/tracing.ts';
import { isProgramError } from '../../platform/unexpected.ts';
import { AnswerBudget, type AnswerLease } from './answer-budget.ts';
import { answerErrorText } from './answer-error.ts';
import { transportErrorText } from './transport-error.ts';
import type { Destination, WebhookTarget } from './webhook-target.ts';

/** A call without a usable answer. `timedOut`: within the time it had; `status`: of an answer that was no success. */
export class WebhookCallError extends Error {
  readonly timedOut: boolean;
  readonly status: number | undefined;
  constructor(message: string, options: ErrorOptions & { readonly timedOut?: boolean; readonly status?: number } = {}) {
    super(message, options);
    this.name = 'WebhookCallError';
    this.timedOut = options.timedOut === true;
    this.status = options.status;
  }
}

export interface WebhookCall {
  /** An object, or its JSON. */
  readonly body: object | Uint8Array;
  readonly timeoutMs: number;
  /** The end of the request this is part of. */
  readonly signal?: AbortSignal;
  /** The span of the caller: the webhook may continue its trace. */
  readonly span?: Span | undefined;
  /** Sends the remaining time to the webhook, as `?timeout=`. Default true. */
  readonly sendTimeout?: boolean;
}

/** Calls webhooks. Rejects with {@link WebhookCallError}. */
export interface WebhookClient {
  post(target: WebhookTarget, call: WebhookCall): Promise<JsonObject>;
  /** For webhooks that only listen: any success will do, however long its body, of which no more is read than of others. */
  postUnanswered(target: WebhookTarget, call: WebhookCall): Promise<void>;
}

export interface WebhookClientDeps {
  readonly net: Pick<Net, 'http'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * An answer larger than this is refused: the largest object is 3 MiB, and its patch stands in base64. Upstream has no bound,
 * nor one of parts.
 */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** A conversion may answer an object and its managed fields with 100,000 parts each. */
const MAX_ANSWER_PARTS = 200_000;

export function createWebhookClient(deps: WebhookClientDeps): WebhookClient {
  const answers = new AnswerBudget();
  const holding = async <T>(use: (held: HeldAnswer) => Promise<T>): Promise<T> => {
    const held = new HeldAnswer(answers);
    try {
      return await use(held);
    } finally {
      held.end();
    }
  };
  return {
    post: (target, call) =>
      holding(async (held) => parseAnswer(deps.clock, await exchange(deps, { target, call, held, read: readAnswer }))),
    postUnanswered: (target, call) =>
      holding(async (held) => {
        await exchange(deps, { target, call, held, read: skipAnswer });
      }),
  };
}

/** The place of one call's answer in the budget, from its first byte to its end. */
class HeldAnswer {
  readonly #budget: AnswerBudget;
  #lease: AnswerLease | undefined;

  constructor(budget: AnswerBudget) {
    this.#budget = budget;
  }

  begin(server: string, signal: AbortSignal): void {
    this.#lease = this.#budget.enter(server, signal);
  }

  take(bytes: number): Promise<void> | undefined {
    return this.#lease?.take(bytes);
  }

  end(): void {
    this.#lease?.end();
  }
}

interface Exchange {
  readonly held: HeldAnswer;
  readonly target: WebhookTarget;
  readonly call: WebhookCall;
  /** Rejects for an answer that is no success. `shown`: how texts of errors begin. */
  readonly read: (answer: HttpAnswer, shown: string, held: HeldAnswer) => Promise<string>;
}

/** The most that is read of a successful answer. */
async function exchange(deps: WebhookClientDeps, { target, call, held, read }: Exchange): Promise<string> {
  const seconds = Math.ceil(call.timeoutMs / 1000);
  const query = call.sendTimeout === false ? '' : `?timeout=${seconds}s`;
  const shown = `Post ${JSON.stringify(`${target.url}${query}`)}: `;
  const limit = limitOf(deps.clock, call);
  let span: Span | undefined;
  try {
    const destination = await target.destination();
    span = call.span?.child('HTTP POST', { kind: 'client', attributes: requestAttributes(destination.url) });
    const answer = await send(deps, { target, call, destination, query, signal: limit.signal, span });
    span?.set({ 'http.response.status_code': answer.status });
    held.begin(new URL(destination.url).host, limit.signal);
    const text = await read(answer, shown, held);
    span?.end();
    return text;
  } catch (error) {
    span?.end(error);
    if (error instanceof WebhookCallError) throw error;
    if (isProgramError(error)) deps.log.unexpected('a webhook could not be called', error, { url: target.url });
    if (limit.timedOut())
      throw new WebhookCallError(`${shown}context deadline exceeded`, { cause: error, timedOut: true });
    throw new WebhookCallError(`${shown}${errorMessage(error)}`, { cause: error });
  } finally {
    limit.release();
  }
}

interface Sending {
  readonly target: WebhookTarget;
  readonly call: WebhookCall;
  readonly destination: Destination;
  readonly query: string;
  readonly signal: AbortSignal;
  readonly span: Span | undefined;
}

async function send({ net }: WebhookClientDeps, sending: Sending): Promise<HttpAnswer> {
  const { target, call, destination, query, signal, span } = sending;
  const trace = span && { traceparent: formatTraceparent(span.context) };
  const request = {
    method: 'POST',
    url: destination.url + query,
    headers: { 'content-type': 'application/json', accept: 'application/json, */*', ...trace, ...destination.headers },
    body: call.body instanceof Uint8Array ? call.body : stringifyJson(call.body),
    tls: target.tls,
    signal,
  };
  try {
    return await net.http(request);
  } catch (error) {
    if (isProgramError(error)) throw error;
    if (!hasErrorCode(error, 'ECONNRESET') || signal.aborted) throw withAddress(error, destination);
    return await net.http(request).catch((again: unknown) => {
      throw withAddress(again, destination);
    });
  }
}

function requestAttributes(url: string): SpanAttributes {
  return { 'http.request.method': 'POST', 'url.full': url, 'server.address': new URL(url).hostname };
}

/** Adds the address of the connection to errors whose texts name it. */
function withAddress(error: unknown, { url }: Destination): Error {
  const { hostname, port, protocol } = new URL(url);
  const address = `${hostname}:${port || (protocol === 'http:' ? 80 : 443)}`;
  return new Error(transportErrorText(error, address), { cause: error });
}

/** A signal that ends with the deadline or with the call's own. */
function limitOf(
  clock: Clock,
  { timeoutMs, signal }: WebhookCall,
): { signal: AbortSignal; timedOut: () => boolean; release: () => void } {
  const controller = new AbortController();
  let late = false;
  const cancel = clock.setTimer(timeoutMs, () => {
    late = true;
    controller.abort(new Error('context deadline exceeded'));
  });
  const leave = (): void => controller.abort(new Error('context canceled'));
  if (signal?.aborted === true) leave();
  const unhook = onAbort(signal, leave);
  return {
    signal: controller.signal,
    timedOut: () => late,
    release() {
      cancel();
      unhook();
    },
  };
}

async function readAnswer(answer: HttpAnswer, shown: string, held: HeldAnswer): Promise<string> {
  const text = await answerText(answer, MAX_ANSWER_BYTES, (bytes) => held.take(bytes)).catch((error: unknown) => {
    throw error instanceof AnswerTooLongError ? new WebhookCallError(shown + error.message, { cause: error }) : error;
  });
  if (!isSuccess(answer)) throw new WebhookCallError(answerErrorText(answer.status, text), { status: answer.status });
  return text;
}

function skipAnswer(answer: HttpAnswer, shown: string, held: HeldAnswer): Promise<string> {
  return readAnswer(answer, shown, held).catch((error: unknown) => {
    const isLong = error instanceof WebhookCallError && error.cause instanceof AnswerTooLongError;
    if (isLong && isSuccess(answer)) return '';
    throw error;
  });
}

/** The status codes that upstream's REST client takes for success. */
const isSuccess = ({ status }: HttpAnswer): boolean => status >= 200 && status <= 206;

async function parseAnswer(clock: Clock, text: string): Promise<JsonObject> {
  let value: unknown;
  try {
    value = await stepByStep(jsonSteps(text, { maxParts: MAX_ANSWER_PARTS }), () => clock.yield());
  } catch (error) {
    throw new WebhookCallError(`couldn't get version/kind; json parse error: ${errorMessage(error)}`, { cause: error });
  }
  if (!isObject(value)) throw new WebhookCallError(`couldn't get version/kind; json parse error: not an object`);
  return value;
}
