/** Large bodies of one client are taken a few at a time: what is read, decoded and worked on is several times their size. */
import type { ApiRequest } from '../../api/transport.ts';
import type { ByteBudget, ByteLease } from '../flowcontrol/byte-budget.ts';
import { LARGE_BYTES } from '../request-context.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Answer, Filter } from './filter.ts';
import { isLongRunning } from './max-in-flight.ts';

export interface BodyFilterDeps {
  readonly bodies: ByteBudget;
}

/** Before anything of a large body is read, it waits for room. Throws or rejects with 429. */
export function withLargeBodies({ bodies }: BodyFilterDeps): Filter {
  return (handler) => {
    const serve = async (scope: RequestScope, entering: ByteLease | Promise<ByteLease>): Promise<Awaited<Answer>> => {
      const lease = await entering;
      try {
        return await handler(scope);
      } finally {
        lease.end();
      }
    };
    return (scope) => {
      const bytes = bodyBytesOf(scope.request);
      if (bytes <= LARGE_BYTES || isLongRunning(scope)) return handler(scope);
      return serve(scope, bodies.enter(scope.user, bytes, scope.request.signal));
    };
  };
}

/** What most bodies are bounded to. */
const UNKNOWN_BYTES = 3 * 1024 * 1024;

function bodyBytesOf({ method, body, headers }: ApiRequest): number {
  if (body.kind !== 'bytes') return 0;
  const length = headers['content-length'];
  if (length !== undefined && /^\d+$/.test(length)) return Math.min(Number(length), UNKNOWN_BYTES);
  return method === 'DELETE' && length === undefined && headers['transfer-encoding'] === undefined ? 0 : UNKNOWN_BYTES;
}
