/** Reads bodies of untrusted servers, up to a size and a deadline. */
import type { Clock } from '../../platform/clock.ts';
import type { HttpAnswer } from '../../platform/net.ts';

/** The limits of reading a body. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** Monotonic deadline of the whole response. */
  readonly endMs: number;
}

/**
 * The body, or its beginning when it is longer (`cut`). The connection is then closed, and also at the deadline,
 * which rejects with ETIMEDOUT.
 */
export async function readBody(
  answer: HttpAnswer,
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  { maxBytes, endMs }: BodyLimits,
): Promise<{ readonly bytes: Uint8Array; readonly cut: boolean }> {
  const chunks = answer.body[Symbol.asyncIterator]();
  const parts: Uint8Array[] = [];
  let length = 0;
  const waiting = new AbortController();
  const late = clock.sleep(Math.max(endMs - clock.monotonicMs(), 0), waiting.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), late]);
      if (next === undefined) throw timeout();
      if (next.done === true) return { bytes: Buffer.concat(parts), cut: false };
      parts.push(next.value);
      length += next.value.length;
      if (length > maxBytes) return { bytes: Buffer.concat(parts).subarray(0, maxBytes), cut: true };
    }
  } finally {
    waiting.abort();
    answer.cancel();
  }
}

function timeout(): Error {
  const message = 'context deadline exceeded (Client.Timeout or context cancellation while reading body)';
  return Object.assign(new Error(message), { code: 'ETIMEDOUT', whileReading: 'body' });
}
