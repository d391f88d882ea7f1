/**
 * Records by columns, as messages between threads and segments have them: reading, merging and finding.
 */
import type { HistoryAuthor, HistoryRecord } from '../../history-record.ts';
import { CHANGES, HistoryRecords, KEY_SEPARATOR, RECORD, type RecordHead } from '../../history-records.ts';

export interface RecordColumns extends RecordHead {
  /** Packed one after the other. */
  readonly values: Uint8Array<ArrayBuffer>;
}

const { width: WIDTH, author: AUTHOR } = RECORD;

export function toColumns(records: readonly HistoryRecord[]): RecordColumns {
  const packed = HistoryRecords.of(records);
  return { ...packed.head(), values: packed.values };
}

/** How many records there are. */
export function countOf({ numbers }: RecordHead): number {
  return numbers.length / WIDTH;
}

/** The keys, one for each record. */
function keysOf(columns: RecordHead): readonly string[] {
  return countOf(columns) === 0 ? [] : columns.keys.split(KEY_SEPARATOR);
}

/** The greatest revision, and the latest time. */
export function newestOf({ numbers }: RecordHead): { readonly revision: number; readonly timeMs: number } {
  let revision = 0;
  let timeMs = 0;
  for (let at = 0; at < numbers.length; at += WIDTH) {
    revision = Math.max(revision, numbers[at]!);
    timeMs = Math.max(timeMs, numbers[at + RECORD.timeMs]!);
  }
  return { revision, timeMs };
}

/** The records without their values. */
export function* changesOf(columns: RecordHead): Generator<Omit<HistoryRecord, 'value' | 'author'>> {
  const { numbers } = columns;
  let at = 0;
  for (const key of keysOf(columns)) {
    yield {
      key,
      revision: numbers[at]!,
      timeMs: numbers[at + RECORD.timeMs]!,
      change: CHANGES[numbers[at + RECORD.change]!]!,
    };
    at += WIDTH;
  }
}

/** The records, or only the wanted ones; their values are copies. */
export function fromColumns(
  columns: RecordColumns,
  isWanted?: (key: string, revision: number) => boolean,
): readonly HistoryRecord[] {
  const { numbers, authors, values } = columns;
  const records: HistoryRecord[] = [];
  let at = 0;
  let offset = 0;
  for (const key of keysOf(columns)) {
    const length = numbers[at + RECORD.length]!;
    const revision = numbers[at]!;
    if (isWanted === undefined || isWanted(key, revision))
      records.push({
        key,
        revision,
        timeMs: numbers[at + RECORD.timeMs]!,
        change: CHANGES[numbers[at + RECORD.change]!]!,
        author: authors[numbers[at + AUTHOR]!],
        value: values.slice(offset, offset + length),
      });
    at += WIDTH;
    offset += length;
  }
  return records;
}

/** Concatenates two sets of columns. */
export function joinColumns(all: readonly RecordColumns[]): RecordColumns {
  const filled = all.filter((columns) => countOf(columns) > 0);
  const numbers = new Float64Array(filled.reduce((sum, one) => sum + one.numbers.length, 0));
  const authors: HistoryAuthor[] = [];
  let at = 0;
  for (const one of filled) {
    numbers.set(one.numbers, at);
    for (let place = at + AUTHOR; place < at + one.numbers.length; place += WIDTH)
      if (numbers[place]! >= 0) numbers[place]! += authors.length;
    for (const author of one.authors) authors.push(author);
    at += one.numbers.length;
  }
  const values = new Uint8Array(Buffer.concat(filled.map((one) => one.values)));
  return { keys: filled.map(({ keys }) => keys).join(KEY_SEPARATOR), numbers, authors, values };
}
