/**
 * Reads the head of an HTTP answer from a raw connection and hands back the rest of the stream. Used where the server
 * writes its own `101 Switching Protocols` head, as upgrade handlers do.
 */
import type { Duplex } from '../platform/streams.ts';

const MAX_HEAD_BYTES = 64 * 1024;

/** The head and the connection behind it. */
export interface AnswerHead {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The same connection; `incoming` starts right after the head. */
  readonly socket: Duplex;
}

/** Reads up to the blank line. Rejects when the peer closes first or sends no HTTP. */
export async function readAnswerHead(socket: Duplex): Promise<AnswerHead> {
  const iterator = socket.incoming[Symbol.asyncIterator]();
  let buffer = Buffer.alloc(0);
  for (;;) {
    const end = buffer.indexOf('\r\n\r\n');
    if (end >= 0) {
      const rest = buffer.subarray(end + 4);
      return {
        ...parseHead(buffer.subarray(0, end).toString('latin1')),
        socket: { ...socket, incoming: resume(rest, iterator) },
      };
    }
    if (buffer.length > MAX_HEAD_BYTES) throw new Error('the answer head is too large');
    const next = await iterator.next();
    if (next.done === true) throw new Error('the connection closed before the answer head was complete');
    buffer = Buffer.concat([buffer, next.value]);
  }
}

function parseHead(text: string): { status: number; headers: Record<string, string> } {
  const [first = '', ...lines] = text.split('\r\n');
  const match = /^HTTP\/1\.[01] (\d{3})/.exec(first);
  if (match === null) throw new Error(`not an HTTP answer: ${JSON.stringify(first.slice(0, 80))}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon > 0) headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(match[1]), headers };
}

function resume(first: Uint8Array, iterator: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  let pending = first.byteLength > 0 ? first : undefined;
  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        if (pending === undefined) return iterator.next();
        const value = pending;
        pending = undefined;
        return Promise.resolve({ done: false as const, value });
      },
      return: () => iterator.return?.() ?? Promise.resolve({ done: true as const, value: undefined }),
    }),
  };
}
