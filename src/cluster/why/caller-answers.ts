/**
 * Answers that are made of many reads, in the caller's rights: each goes through the server's own handler, so that it is
 * authorized, audited and refused as a request of the caller's. Few are made at once, and none takes longer than its time.
 */
import { createHash } from 'node:crypto';
import { timeout } from '../../api/status-error.ts';
import type { ApiHandler, ApiResponse } from '../../api/transport.ts';
import type { RequestScope } from '../../apiserver/request-scope.ts';
import { JSON_HEADERS } from '../../apiserver/responses.ts';
import { Turns } from '../../apiserver/turns.ts';
import { linkedController } from '../../base/abort.ts';
import type { Client } from '../../client/client.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import type { Clock } from '../../platform/clock.ts';
import { jsonPieces } from './json-pieces.ts';
import { ExplanationSlots, type ExplanationCaller } from './explanation-slots.ts';

export interface CallerAnswersDeps {
  readonly handler: () => ApiHandler;
  readonly clock: Clock;
}

export interface AnswerTools {
  /** Acts as the caller. */
  readonly client: Client;
  readonly nowMs: number;
  readonly signal: AbortSignal;
  readonly pause: () => Promise<void> | undefined;
}

/** The code that makes answers, loaded with the first question. */
export interface AnswerModule {
  /** The reason of the signal when the time is over. */
  readonly OutOfTimeError: new (ms: number) => Error;
}

const MAX_MS = 10_000;

export class CallerAnswers {
  readonly #deps: CallerAnswersDeps;
  readonly #places: ExplanationSlots;

  constructor(deps: CallerAnswersDeps) {
    this.#deps = deps;
    this.#places = new ExplanationSlots(deps.clock);
  }

  /** Rejects with 429 when the caller has too many such questions, and with 504 when the time was too short. */
  answer<M extends AnswerModule>(
    scope: RequestScope,
    load: () => Promise<M>,
    make: (module: M, tools: AnswerTools) => Promise<object>,
  ): Promise<ApiResponse> {
    return this.#places.use(explanationCallerOf(scope), async () => {
      const module = await load();
      const found = await this.#withTimeLimit(scope, (tools) => make(module, tools), module);
      return jsonAnswer(scope, found, new Turns(this.#deps.clock));
    });
  }

  async #withTimeLimit<T>(
    scope: RequestScope,
    work: (tools: AnswerTools) => Promise<T>,
    { OutOfTimeError }: AnswerModule,
  ): Promise<T> {
    const { handler, clock } = this.#deps;
    const limit = linkedController(scope.signal);
    const cancel = clock.setTimer(MAX_MS, () => limit.abort(new OutOfTimeError(MAX_MS)));
    const client = createInProcessClient({
      handler: handler(),
      principal: scope.impersonator ?? scope.user,
      clock,
      userAgent: 'keelson-why',
      partOf: scope.request,
    });
    const turns = new Turns(clock);
    try {
      return await work({ client, nowMs: clock.nowMs(), signal: limit.signal, pause: () => turns.next() });
    } catch (error) {
      if (error instanceof OutOfTimeError) throw timeout(error.message);
      throw error;
    } finally {
      cancel();
      limit.dispose();
    }
  }
}

function explanationCallerOf({ user, signal, place }: RequestScope): ExplanationCaller {
  return { user, signal, waitFor: (waiting) => place?.waitFor(waiting) ?? waiting };
}

/** Repeated questions get 304 while the answer stays the same. */
async function jsonAnswer({ request }: RequestScope, object: object, turns: Turns): Promise<ApiResponse> {
  const chunks: Buffer[] = [];
  const hash = createHash('sha256');
  for (const piece of jsonPieces(object)) {
    const chunk = Buffer.from(piece);
    chunks.push(chunk);
    hash.update(chunk);
    await turns.next();
  }
  const headers = { ...JSON_HEADERS, etag: `"${hash.digest('base64url')}"` };
  if (request.headers['if-none-match'] === headers.etag) return { kind: 'bytes', status: 304, headers, chunks: [] };
  return { kind: 'bytes', status: 200, headers, chunks };
}
