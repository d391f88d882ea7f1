/** gzip by zlib, on Node's thread pool. */
import { promisify } from 'node:util';
import { constants, gzip, inflateRawSync } from 'node:zlib';
import type { Compression, InflateRaw } from '../compression.ts';

const run = promisify<Uint8Array, { level: number }, Buffer>(gzip);

/** The compression of this machine. Upstream's level: the fastest. */
export function createNodeCompression(): Compression {
  return { compresses: true, gzip: (chunks) => run(Buffer.concat(chunks), { level: constants.Z_BEST_SPEED }) };
}

const WINDOW_BYTES = 32 * 1024;

/** Depends on its arguments alone, so simulations use it as well. */
export const inflateRaw: InflateRaw = (block, before) =>
  inflateRawSync(block, { dictionary: before.subarray(-WINDOW_BYTES), finishFlush: constants.Z_SYNC_FLUSH });
