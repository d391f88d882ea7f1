/** No compression: simulated traffic is read in tests, and the turns of the thread pool would not replay. */
import type { Compression } from '../compression.ts';

/** Returns everything unchanged. */
export function createSimCompression(): Compression {
  return {
    compresses: false,
    gzip: (bytes) => Promise.resolve(bytes),
    gzipAnswer: (pieces) => Promise.resolve(pieces),
  };
}
