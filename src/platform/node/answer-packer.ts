/**
 * Compresses responses. The thread pool also checks token signatures, reads files and resolves names: responses use
 * at most two of its four threads, piece by piece; further ones are sent uncompressed.
 */
import { constants, createGzip, type Gzip } from 'node:zlib';
import { onAbort } from '../../base/abort.ts';

const MOST_AT_ONCE = 2;
/** The bytes that a pool thread compresses at a time. */
const PIECE_BYTES = 256 * 1024;

export class AnswerPacker {
  #running = 0;

  /** Undefined: no thread is free, or the response is no longer needed. */
  async pack(pieces: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[] | undefined> {
    if (this.#running >= MOST_AT_ONCE || signal.aborted) return undefined;
    this.#running++;
    try {
      return await packed(pieces, signal);
    } finally {
      this.#running--;
    }
  }
}

async function packed(pieces: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[] | undefined> {
  const stream = createGzip({ level: constants.Z_BEST_SPEED });
  const chunks: Uint8Array[] = [];
  const done = Promise.withResolvers<boolean>();
  stream.on('data', (chunk: Uint8Array) => chunks.push(chunk));
  stream.once('end', () => done.resolve(true));
  stream.once('close', () => done.resolve(false));
  stream.once('error', done.reject);
  const unhook = onAbort(signal, () => stream.destroy());
  try {
    for (const part of partsOf(pieces)) if (!signal.aborted) await writeCompressed(stream, part);
    if (!signal.aborted) stream.end();
    return (await done.promise) ? chunks : undefined;
  } finally {
    unhook();
    stream.destroy();
  }
}

function* partsOf(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const piece of pieces)
    for (let at = 0; at < piece.length; at += PIECE_BYTES) yield piece.subarray(at, at + PIECE_BYTES);
}

/** Resolves once the bytes are compressed or the stream has failed. */
function writeCompressed(stream: Gzip, part: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    stream.once('close', resolve);
    stream.write(part, () => {
      stream.off('close', resolve);
      resolve();
    });
  });
}
