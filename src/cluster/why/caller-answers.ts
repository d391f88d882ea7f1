/**
 * Computes responses that need many reads, with the caller's rights: each read passes the server's own handler chain, so it is
 * authorized and audited as a request of the caller. The number of concurrent computations and their time are limited.
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

/** What a computation gets. */
export interface AnswerTools {
  /** Acts as the caller. */
  readonly client: Client;
  readonly nowMs: number;
  readonly signal: AbortSignal;
  readonly pause: () => Promise<void> | undefined;
}

/** The code that computes responses, loaded at the first request. */
export interface AnswerModule {
  /** The signal's reason after the time limit. */
  readonly OutOfTimeError: new (ms: number) => Error;
}

const MAX_MS = 10_000;

export class CallerAnswers {
  readonly #deps: CallerAnswersDeps;
  readonly #slots: ExplanationSlots;

  constructor(deps: CallerAnswersDeps) {
    this.#deps = deps;
    this.#slots = new ExplanationSlots(deps.clock);
  }

  /** Rejects with 429 for too many concurrent requests, and with 504 after the time limit. */
  answer<M extends AnswerModule>(
    scope: RequestScope,
    load: () => Promise<M>,
    make: (module: M, tools: AnswerTools) => Promise<object>,
  ): Promise<ApiResponse> {
    return this.#slots.run(explanationCallerOf(scope), async () => {
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

function explanationCallerOf({ user, signal, slot }: RequestScope): ExplanationCaller {
  return { user, signal, waitFor: (waiting) => slot?.waitFor(waiting) ?? waiting };
}

/** Repeated requests get 304 while the response stays the same. */
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
