/**
 * `why` answered by the API server: `/keelson/v1/why/` before the path of an object or a list, and `/keelson/v1/trouble`. What an
 * answer is made of is read through the server's own handler as the caller, so that every read is authorized, audited and refused
 * as a request of the caller's. What explains is loaded with the first question. See docs/why.md.
 */
import { createHash } from 'node:crypto';
import { badRequest } from '../../api/status-error.ts';
import type { ApiHandler, ApiResponse } from '../../api/transport.ts';
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import type { ObjectView } from '../../apiserver/object-views.ts';
import type { RequestScope } from '../../apiserver/request-scope.ts';
import { JSON_HEADERS } from '../../apiserver/responses.ts';
import { Turns } from '../../apiserver/turns.ts';
import { linkedController } from '../../base/abort.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Options } from './answers.ts';
import { Places } from './places.ts';

export interface WhyDeps {
  readonly handler: () => ApiHandler;
  readonly clock: Clock;
}

type Why = typeof import('./answers.ts');

const MAX_MS = 10_000;
const MAX_SHOWN = 100;

export function whyRoutes(deps: WhyDeps): { readonly view: ObjectView; readonly trouble: NonResourceRoute } {
  const places = new Places();
  const answer = (scope: RequestScope, make: (why: Why, options: Options) => Promise<object>): Promise<ApiResponse> =>
    places.use(scope.user, async () => {
      const why = await import('./answers.ts');
      return jsonAnswer(scope, await withTimeLimit(deps, scope, (options) => make(why, options), why));
    });
  return {
    view: {
      name: 'why',
      serve: (scope, { info }) => answer(scope, (why, options) => why.whyOf(info, scope.info, options)),
      serveList: (scope, { info }) => answer(scope, (why, options) => why.whyOfList(info, scope.info, options)),
    },
    trouble: {
      path: '/keelson/v1/trouble',
      methods: ['GET'],
      serve(scope) {
        const namespace = scope.params.get('namespace') || undefined;
        const shown = shownOf(scope);
        return answer(scope, (why, options) => why.findTroubles({ ...options, namespace }, shown));
      },
    },
  };
}

async function withTimeLimit<T>(
  { handler, clock }: WhyDeps,
  scope: RequestScope,
  work: (options: Options) => Promise<T>,
  { OutOfTimeError }: Why,
): Promise<T> {
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
  } finally {
    cancel();
    limit.dispose();
  }
}

/** Throws 400. */
function shownOf({ params }: RequestScope): number | undefined {
  const text = params.get('limit');
  if (text === null) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw badRequest(`limit: ${JSON.stringify(text)} is no whole number above 0`);
  return Math.min(Number(text), MAX_SHOWN);
}

/** Whoever asks again and again gets 304 while the answer stays. */
function jsonAnswer({ request }: RequestScope, object: object): ApiResponse {
  const text = `${JSON.stringify(object)}\n`;
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  const headers = { ...JSON_HEADERS, etag };
  if (request.headers['if-none-match'] === etag) return { kind: 'bytes', status: 304, headers, chunks: [] };
  return { kind: 'bytes', status: 200, headers, chunks: [Buffer.from(text)] };
}
