/** gzip by zlib, on Node's thread pool. */
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { Compression } from '../compression.ts';

const run = promisify<Uint8Array, { level: number }, Buffer>(gzip);

/** The compression of this machine. Upstream's level: the fastest. */
export function createNodeCompression(): Compression {
  return { compresses: true, gzip: (chunks) => run(Buffer.concat(chunks), { level: constants.Z_BEST_SPEED }) };
}
