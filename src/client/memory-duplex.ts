/**
 * Two connected in-memory ends of a byte stream, with backpressure and half-close: the counterpart of a socket for
 * upgraded connections inside the process.
 */
import type { Duplex } from '../platform/streams.ts';

const HIGH_WATER_BYTES = 256 * 1024;

/** One direction of the pair. */
interface Pipe {
  write(chunk: Uint8Array): Promise<void>;
  end(): void;
  destroy(error: Error | undefined): void;
  readonly over: Promise<void>;
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array>;
}

function createPipe(): Pipe {
  const chunks: Uint8Array[] = [];
  let buffered = 0;
  let ended = false;
  let broken: Error | undefined;
  const over = Promise.withResolvers<void>();
  let wakeReader = Promise.withResolvers<void>();
  let wakeWriters = Promise.withResolvers<void>();
  const wake = (): void => {
    wakeReader.resolve();
    wakeWriters.resolve();
  };
  const finish = (): void => {
    if (ended && chunks.length === 0) over.resolve();
  };

  async function read(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        buffered -= chunk.byteLength;
        wakeWriters.resolve();
        finish();
        return { done: false, value: chunk };
      }
      if (broken !== undefined) throw broken;
      if (ended) return { done: true, value: undefined };
      wakeReader = Promise.withResolvers<void>();
      await wakeReader.promise;
    }
  }

  function destroy(error: Error | undefined): void {
    if (ended && chunks.length === 0) return;
    chunks.length = 0;
    buffered = 0;
    if (error !== undefined) broken = error;
    ended = true;
    over.resolve();
    wake();
  }

  return {
    async write(chunk) {
      if (ended) throw broken ?? new Error('write after end of stream');
      chunks.push(chunk);
      buffered += chunk.byteLength;
      wakeReader.resolve();
      while (buffered > HIGH_WATER_BYTES && !ended) {
        wakeWriters = Promise.withResolvers<void>();
        await wakeWriters.promise;
      }
      if (broken !== undefined) throw broken;
    },
    end() {
      ended = true;
      finish();
      wake();
    },
    destroy,
    over: over.promise,
    [Symbol.asyncIterator]: () => ({
      next: read,
      return: () => {
        destroy(undefined);
        return Promise.resolve({ done: true as const, value: undefined });
      },
    }),
  };
}

function createEnd(outgoing: Pipe, incoming: Pipe): Duplex {
  return {
    write: (chunk) => outgoing.write(typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk),
    end() {
      outgoing.end();
      return Promise.resolve();
    },
    incoming,
    destroy(error) {
      const reason = error ?? new Error('connection destroyed');
      outgoing.destroy(reason);
      incoming.destroy(reason);
    },
    closed: Promise.all([outgoing.over, incoming.over]).then(() => undefined),
  };
}

/** Makes a connected pair; what one end writes the other receives. */
export function createMemoryDuplexPair(): [Duplex, Duplex] {
  const there = createPipe();
  const back = createPipe();
  return [createEnd(there, back), createEnd(back, there)];
}
