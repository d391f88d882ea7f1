/** gzip by zlib, on Node's thread pool. */
import { promisify } from 'node:util';
import { constants, gzip, inflateRawSync } from 'node:zlib';
import { errorMessage } from '../../base/errors.ts';
import type { Compression, InflateRaw } from '../compression.ts';
import { AnswerPacker } from './answer-packer.ts';

const run = promisify<Uint8Array, { level: number }, Buffer>(gzip);
/** Upstream's: the fastest. */
const level = constants.Z_BEST_SPEED;

/** The compression of this machine. */
export function createNodeCompression(): Compression {
  const answers = new AnswerPacker();
  return {
    compresses: true,
    inflateRaw,
    gzip: (bytes) => run(bytes, { level }),
    gzipAnswer: (pieces, signal) => answers.pack(pieces, signal),
  };
}

const WINDOW_BYTES = 32 * 1024;

/** Depends on its arguments alone, so simulations use it as well. */
export const inflateRaw: InflateRaw = (block, before, maxBytes) => {
  try {
    return inflateRawSync(block, {
      dictionary: before.subarray(-WINDOW_BYTES),
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: maxBytes,
    });
  } catch (cause) {
    // zlib's errors are the sender's fault; as RangeError or TypeError they would count as the program's.
    throw new Error(`not inflated: ${errorMessage(cause)}`, { cause });
  }
};
