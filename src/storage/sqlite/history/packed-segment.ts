/**
 * A segment before compression: one run of bytes, which the thread of the changes makes and the worker compresses as it is.
 *
 * Format: length of the head (4 bytes), the head as JSON, the numbers, the keys, the values.
 */
import type { HistoryAuthor, HistoryRecord } from '../../history-log.ts';
import { countOf, headOf, newestOf, type RecordColumns, type RecordHead } from './columns.ts';

export interface PackedSegment {
  /** The segment; the buffer may be longer. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where the keys begin. */
  readonly keysAt: number;
  /** Where the values begin: the end of the keys. */
  readonly valuesAt: number;
  readonly records: number;
  /** The greatest revision, and the latest time. */
  readonly newest: { readonly revision: number; readonly timeMs: number };
}

interface Head {
  readonly authors: readonly HistoryAuthor[];
  readonly numberBytes: number;
  readonly keyBytes: number;
}

const HEAD_LENGTH_BYTES = 4;
/** The next batch is seldom much longer than the last one. */
const ROOM = 1.25;

/** Packs records, in `spare` where they have room there: its content is overwritten. */
export function packRecords(records: readonly HistoryRecord[], spare?: ArrayBuffer): PackedSegment {
  return pack(
    headOf(records),
    records.map(({ value }) => value),
    spare,
  );
}

export function packColumns(columns: RecordColumns): PackedSegment {
  return pack(columns, [columns.values]);
}

function pack(records: RecordHead, values: readonly Uint8Array[], spare?: ArrayBuffer): PackedSegment {
  const { numbers, authors, keys } = records;
  const sizes = { numberBytes: numbers.byteLength, keyBytes: Buffer.byteLength(keys) };
  const head = Buffer.from(JSON.stringify({ authors, ...sizes } satisfies Head));
  const numbersAt = HEAD_LENGTH_BYTES + head.length;
  const keysAt = numbersAt + sizes.numberBytes;
  const valuesAt = keysAt + sizes.keyBytes;
  const bytes = room(
    values.reduce((sum, { length }) => sum + length, valuesAt),
    spare,
  );
  bytes.writeUInt32LE(head.length);
  bytes.set(head, HEAD_LENGTH_BYTES);
  bytes.set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength), numbersAt);
  bytes.write(keys, keysAt);
  let at = valuesAt;
  for (const value of values) {
    bytes.set(value, at);
    at += value.length;
  }
  return { bytes, keysAt, valuesAt, records: countOf(records), newest: newestOf(records) };
}

/** Uninitialized memory: every byte is written. */
function room(size: number, spare: ArrayBuffer | undefined): Buffer<ArrayBuffer> {
  const buffer = spare !== undefined && spare.byteLength >= size ? spare : newBuffer(Math.ceil(size * ROOM));
  return Buffer.from(buffer, 0, size);
}

function newBuffer(size: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(size).buffer as ArrayBuffer;
}

/** The columns of packed bytes; the values are a view of them. Throws for damaged bytes. */
export function unpack(bytes: Buffer): RecordColumns {
  const numbersAt = HEAD_LENGTH_BYTES + bytes.readUInt32LE(0);
  const { authors, numberBytes, keyBytes } = JSON.parse(bytes.toString('utf8', HEAD_LENGTH_BYTES, numbersAt)) as Head;
  const keysAt = numbersAt + numberBytes;
  const valuesAt = keysAt + keyBytes;
  const numbers = new Float64Array(new Uint8Array(bytes.subarray(numbersAt, keysAt)).buffer);
  return {
    keys: bytes.toString('utf8', keysAt, valuesAt),
    numbers,
    authors,
    values: new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset + valuesAt, bytes.length - valuesAt),
  };
}
