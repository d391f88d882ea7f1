/** No compression: simulated traffic is read in tests, and the thread pool's turns would not replay. */
import type { Compression } from '../compression.ts';

/** Joins the pieces and leaves them as they are. */
export function createSimCompression(): Compression {
  return { compresses: false, gzip: (chunks) => Promise.resolve(Buffer.concat(chunks)) };
}
