/**
 * A segment: records of one lane, compressed together. Objects resemble each other and their own earlier states, so a
 * segment of a thousand pods takes a thirtieth of their bytes, and less time than compressing each by itself.
 *
 * Format, before compression: length of the head (4 bytes), the head as JSON, the numbers, the keys, the values.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { HistoryAuthor } from '../../history-log.ts';
import type { RecordColumns } from './columns.ts';

interface Head {
  readonly authors: readonly HistoryAuthor[];
  readonly numberBytes: number;
  readonly keyBytes: number;
}

const HEAD_LENGTH_BYTES = 4;
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** The bytes of a segment. */
export interface EncodedSegment {
  readonly bytes: Uint8Array;
  /** Before compression. */
  readonly rawBytes: number;
  /** Hashes of its keys, ascending. */
  readonly hashes: Uint32Array<ArrayBuffer>;
}

export function encodeSegment({ keys, numbers, authors, values }: RecordColumns): EncodedSegment {
  const keyBytes = Buffer.from(keys);
  const numberBytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  const sizes = { numberBytes: numberBytes.length, keyBytes: keyBytes.length };
  const head = Buffer.from(JSON.stringify({ authors, ...sizes } satisfies Head));
  const length = Buffer.alloc(HEAD_LENGTH_BYTES);
  length.writeUInt32LE(head.length);
  const raw = Buffer.concat([length, head, numberBytes, keyBytes, values]);
  return {
    bytes: zstdCompressSync(raw, COMPRESSION),
    rawBytes: raw.length,
    hashes: hashesOf(keyBytes, numbers.length),
  };
}

/** The columns of a segment. Throws for damaged bytes. */
export function decodeSegment(bytes: Uint8Array): RecordColumns {
  const raw = zstdDecompressSync(bytes);
  const numbersAt = HEAD_LENGTH_BYTES + raw.readUInt32LE(0);
  const { authors, numberBytes, keyBytes } = JSON.parse(raw.toString('utf8', HEAD_LENGTH_BYTES, numbersAt)) as Head;
  const keysAt = numbersAt + numberBytes;
  const valuesAt = keysAt + keyBytes;
  const numbers = new Float64Array(new Uint8Array(raw.subarray(numbersAt, keysAt)).buffer);
  return {
    keys: raw.toString('utf8', keysAt, valuesAt),
    numbers,
    authors,
    values: new Uint8Array(raw.buffer as ArrayBuffer, raw.byteOffset + valuesAt, raw.length - valuesAt),
  };
}

const [FNV_START, FNV_PRIME] = [0x811c9dc5, 0x01000193];

/** As `fnv32a` of each key, without a text for each. */
function hashesOf(keyBytes: Uint8Array, atMost: number): Uint32Array<ArrayBuffer> {
  const hashes = new Uint32Array(atMost);
  let count = 0;
  let hash = FNV_START;
  for (let at = 0; at < keyBytes.length; at++) {
    const byte = keyBytes[at]!;
    if (byte === 0) {
      hashes[count++] = hash;
      hash = FNV_START;
    } else hash = Math.imul(hash ^ byte, FNV_PRIME);
  }
  hashes[count++] = hash;
  return hashes.slice(0, count).sort();
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
