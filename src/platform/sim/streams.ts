/** In-memory byte streams with backpressure and half-close. */
import { Channel } from '../../base/channel.ts';
import type { Duplex } from '../streams.ts';

/** Chunks a direction holds before its writer waits. */
const CAPACITY = 16;

export function goneError(): Error {
  return Object.assign(new Error('the connection is closed'), { code: 'ECONNRESET' });
}

/** The bytes read already, then the rest. */
export async function* resume(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first.byteLength > 0) yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

interface Direction {
  readonly channel: Channel<Uint8Array>;
  error: Error | undefined;
}

/** Two ends of one connection. */
export function createDuplexPair(): [Duplex, Duplex] {
  const forth: Direction = { channel: new Channel(CAPACITY), error: undefined };
  const back: Direction = { channel: new Channel(CAPACITY), error: undefined };
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const onEnd = (): void => {
    if (forth.channel.closed && back.channel.closed) close();
  };
  return [createEnd({ out: forth, in: back, onEnd, closed }), createEnd({ out: back, in: forth, onEnd, closed })];
}

function createEnd(wires: { out: Direction; in: Direction; onEnd: () => void; closed: Promise<void> }): Duplex {
  const { out, onEnd, closed } = wires;
  return {
    async write(chunk) {
      const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk.slice();
      if (bytes.byteLength === 0) return;
      try {
        await out.channel.send(bytes);
      } catch {
        throw out.error ?? goneError();
      }
    },
    async end() {
      out.channel.close();
      onEnd();
    },
    incoming: readAll(wires.in),
    destroy(error) {
      const reason = error ?? goneError();
      out.error ??= reason;
      out.channel.drain();
      out.channel.close();
      if (!wires.in.channel.closed) {
        // This side gets its own end only with an error.
        wires.in.error ??= error;
        wires.in.channel.drain();
        wires.in.channel.close();
      }
      onEnd();
    },
    closed,
  };
}

async function* readAll(direction: Direction): AsyncGenerator<Uint8Array> {
  yield* direction.channel;
  if (direction.error !== undefined) throw direction.error;
}
