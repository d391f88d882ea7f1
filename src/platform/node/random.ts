/** Real randomness from the operating system, drawn in blocks: one system call per 4 KB. Every stream is the same source. */
import { randomFillSync } from 'node:crypto';
import { nameSuffixFrom, uuidFrom } from '../random-values.ts';
import type { Random } from '../random.ts';

const BLOCK_BYTES = 4096;

/** Makes the random source of this process. */
export function createNodeRandom(): Random {
  const block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let used = BLOCK_BYTES;
  const take = (length: number): number => {
    if (used + length > BLOCK_BYTES) {
      randomFillSync(block);
      used = 0;
    }
    const at = used;
    used += length;
    return at;
  };
  const bytes = (length: number): Uint8Array => {
    const out = new Uint8Array(length);
    if (length > BLOCK_BYTES / 4) return randomFillSync(out);
    const at = take(length);
    out.set(block.subarray(at, at + length));
    // Keys may be made from these bytes, so they are erased.
    block.fill(0, at, at + length);
    return out;
  };
  const next = (): number => {
    const at = take(8);
    return ((block.readUInt32LE(at) & 0x1fffff) * 2 ** 32 + block.readUInt32LE(at + 4)) / 2 ** 53;
  };
  const int = (below: number): number => {
    if (!(below >= 1)) throw new RangeError(`int(below) needs at least 1, got ${below}`);
    return Math.floor(next() * below);
  };
  const random: Random = {
    next,
    int,
    bytes,
    uuid: () => uuidFrom(bytes(16)),
    nameSuffix: (length) => nameSuffixFrom(int, length),
    fork: () => random,
  };
  return random;
}
