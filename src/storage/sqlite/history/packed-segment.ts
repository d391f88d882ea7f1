/**
 * A segment before compression: one run of bytes, which the thread of the changes makes and the worker compresses as it is.
 *
 * Format: length of the head (4 bytes), the head as JSON, the numbers, the keys, the values.
 */
import type { HistoryAuthor } from '../../history-record.ts';
import { type HistoryRecords, newMemory, type RecordHead } from '../../history-records.ts';
import { countOf, newestOf, type RecordColumns } from './columns.ts';

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

/** Packs records in their own memory, which then belongs to the segment. */
export function packRecords(records: HistoryRecords): PackedSegment {
  const front = frontOf(records.head());
  return { ...front.write(records.valuesWithRoom(front.length)), records: records.count };
}

export function packColumns(columns: RecordColumns): PackedSegment {
  const front = frontOf(columns);
  const bytes = Buffer.from(newMemory(front.length + columns.values.length));
  bytes.set(columns.values, front.length);
  return { ...front.write(bytes), records: countOf(columns) };
}

/** What precedes the values. */
interface Front {
  readonly length: number;
  /** Writes it to the begin of the bytes. */
  write(bytes: Buffer<ArrayBuffer>): Omit<PackedSegment, 'records'>;
}

function frontOf(records: RecordHead): Front {
  const { numbers, authors, keys } = records;
  const sizes = { numberBytes: numbers.byteLength, keyBytes: Buffer.byteLength(keys) };
  const head = Buffer.from(JSON.stringify({ authors, ...sizes } satisfies Head));
  const numbersAt = HEAD_LENGTH_BYTES + head.length;
  const keysAt = numbersAt + sizes.numberBytes;
  const valuesAt = keysAt + sizes.keyBytes;
  return {
    length: valuesAt,
    write(bytes) {
      bytes.writeUInt32LE(head.length);
      bytes.set(head, HEAD_LENGTH_BYTES);
      bytes.set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength), numbersAt);
      bytes.write(keys, keysAt);
      return { bytes, keysAt, valuesAt, newest: newestOf(records) };
    },
  };
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
