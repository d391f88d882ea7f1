/**
 * A segment: records of one lane, compressed together. Objects resemble each other and their own earlier states, so a
 * segment of a thousand pods takes a thirtieth of their bytes, and less time than compressing each by itself.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { RecordColumns } from './columns.ts';
import { type PackedSegment, unpack } from './packed-segment.ts';

/** Room for incompressible bytes: where all of the output has room, zstd compresses in one pass, without a copy of the input. */
const OUTPUT_ROOM = 64 * 1024;

/** A segment as it is in the file. */
export interface EncodedSegment {
  readonly bytes: Uint8Array;
  /** Hashes of its keys, ascending. */
  readonly hashes: Uint32Array<ArrayBuffer>;
}

export function encodeSegment({ bytes, keysAt, valuesAt, records }: PackedSegment): EncodedSegment {
  return { bytes: compress(bytes), hashes: hashesOf(bytes.subarray(keysAt, valuesAt), records) };
}

function compress(bytes: Uint8Array): Uint8Array {
  return zstdCompressSync(bytes, {
    params: { [constants.ZSTD_c_compressionLevel]: 1 },
    pledgedSrcSize: bytes.length,
    chunkSize: bytes.length + OUTPUT_ROOM,
  });
}

/** The columns of a segment. Throws for damaged bytes. */
export function decodeSegment(bytes: Uint8Array): RecordColumns {
  return unpack(zstdDecompressSync(bytes));
}

const [FNV_START, FNV_PRIME] = [0x811c9dc5, 0x01000193];

/** As `fnv32a` of each key, without a text for each. */
function hashesOf(keyBytes: Uint8Array, records: number): Uint32Array<ArrayBuffer> {
  const hashes = new Uint32Array(records);
  let count = 0;
  let hash = FNV_START;
  for (let at = 0; at < keyBytes.length; at++) {
    const byte = keyBytes[at]!;
    if (byte === 0) {
      hashes[count++] = hash;
      hash = FNV_START;
    } else hash = Math.imul(hash ^ byte, FNV_PRIME);
  }
  hashes[count] = hash;
  return hashes.sort();
}

/** Whether a segment with these hashes may have records of a key of this hash. */
export function mayHold(hashes: Uint8Array, hash: number): boolean {
  const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.byteLength);
  let low = 0;
  let high = hashes.byteLength / 4 - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = view.getUint32(middle * 4, true);
    if (found === hash) return true;
    if (found < hash) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}
