/**
 * Large bodies of one client are taken a few at a time: what is read, decoded and worked on is several times their size. A
 * body whose length is not known counts nothing until more than `LARGE_BYTES` of it have come.
 */
import type { ApiRequest } from '../../api/transport.ts';
import type { ByteBudget, ByteLease } from '../flowcontrol/byte-budget.ts';
import { LARGE_BYTES } from '../request-context.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Answer, Filter, Handler } from './filter.ts';
import { isLongRunning } from './max-in-flight.ts';

export interface BodyFilterDeps {
  readonly bodies: ByteBudget;
}

/** Before a large body is read, or read on, it waits for room. Throws or rejects with 429. */
export function withLargeBodies({ bodies }: BodyFilterDeps): Filter {
  return (handler) => (scope) => {
    if (scope.request.body.kind !== 'bytes' || isLongRunning(scope)) return handler(scope);
    const bytes = announcedBytes(scope.request);
    if (bytes === undefined) return serveGated(bodies, handler, scope);
    return bytes <= LARGE_BYTES
      ? handler(scope)
      : serveLarge(bodies.enter(scope.user, bytes, scope.signal), handler, scope);
  };
}

async function serveLarge(
  entering: ByteLease | Promise<ByteLease>,
  handler: Handler,
  scope: RequestScope,
): Promise<Awaited<Answer>> {
  const lease = entering instanceof Promise ? await scope.waitFor(entering) : entering;
  try {
    return await handler(scope);
  } finally {
    lease.end();
  }
}

async function serveGated(bodies: ByteBudget, handler: Handler, scope: RequestScope): Promise<Awaited<Answer>> {
  let lease: ByteLease | undefined;
  let hasEnded = false;
  scope.bodyGate = {
    freeBytes: LARGE_BYTES,
    async pass() {
      const entering = bodies.enter(scope.user, MAX_BYTES, scope.signal);
      lease = entering instanceof Promise ? await scope.waitFor(entering) : entering;
      if (hasEnded) lease.end();
    },
  };
  try {
    return await handler(scope);
  } finally {
    hasEnded = true;
    lease?.end();
  }
}

/** The size limit of most bodies. */
const MAX_BYTES = 3 * 1024 * 1024;

/** The length the client gives beforehand; undefined where it gives none. */
function announcedBytes({ headers }: ApiRequest): number | undefined {
  const length = headers['content-length'];
  return length !== undefined && /^\d+$/.test(length) ? Math.min(Number(length), MAX_BYTES) : undefined;
}
