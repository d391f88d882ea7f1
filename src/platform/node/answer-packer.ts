/**
 * Compresses answers. The pool of threads also checks the signatures of tokens, reads files and looks up names: answers take
 * two of its four threads, piece by piece; whoever comes while both are taken goes out as it is.
 */
import { constants, createGzip, type Gzip } from 'node:zlib';
import { onAbort } from '../../base/abort.ts';

const MOST_AT_ONCE = 2;
/** What one of the pool's threads works on at a time. */
const PIECE_BYTES = 256 * 1024;

export class AnswerPacker {
  #running = 0;

  /** Undefined: not now, or no longer wanted. */
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
    for (const part of partsOf(pieces)) if (!signal.aborted) await written(stream, part);
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

/** Resolves once the bytes are compressed, or never will be. */
function written(stream: Gzip, part: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    stream.once('close', resolve);
    stream.write(part, () => {
      stream.off('close', resolve);
      resolve();
    });
  });
}
