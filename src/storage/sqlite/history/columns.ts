/**
 * Records by columns: the format of messages between threads and of segments. A change costs a microsecond or two in all threads
 * together, so a record allocates nothing but its place in a few long buffers.
 */
import type { HistoryAuthor, HistoryChange, HistoryRecord } from '../../history-log.ts';

/** Records of equal index, without their values. */
export interface RecordHead {
  /** The keys, joined by NUL, which no recorded key contains. */
  readonly keys: string;
  /** For each record: revision, time, code of the change, index of the author (-1: unknown), length of the value. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly authors: readonly HistoryAuthor[];
}

export interface RecordColumns extends RecordHead {
  /** Packed one after the other. */
  readonly values: Uint8Array<ArrayBuffer>;
}

const WIDTH = 5;
const AUTHOR = 3;
const SEPARATOR = '\0';
const CHANGES: readonly HistoryChange[] = ['created', 'changed', 'deleted', 'known'];

export function toColumns(records: readonly HistoryRecord[]): RecordColumns {
  // Memory of its own: it changes threads.
  const values = new Uint8Array(records.reduce((sum, { value }) => sum + value.length, 0));
  let at = 0;
  for (const { value } of records) {
    values.set(value, at);
    at += value.length;
  }
  return { ...headOf(records), values };
}

export function headOf(records: readonly HistoryRecord[]): RecordHead {
  const numbers = new Float64Array(records.length * WIDTH);
  const authors = new Authors();
  const keys: string[] = [];
  let at = 0;
  for (const { key, revision, timeMs, change, author, value } of records) {
    keys.push(key);
    numbers[at] = revision;
    numbers[at + 1] = timeMs;
    numbers[at + 2] = CHANGES.indexOf(change);
    numbers[at + AUTHOR] = author === undefined ? -1 : authors.indexOf(author);
    numbers[at + 4] = value.length;
    at += WIDTH;
  }
  return { keys: keys.join(SEPARATOR), numbers, authors: authors.list };
}

/** The authors of some records, each once. */
class Authors {
  readonly list: HistoryAuthor[] = [];
  readonly #indexes = new Map<string, number>();
  #last = -1;

  indexOf(author: HistoryAuthor): number {
    const last = this.list[this.#last];
    if (last !== undefined && isSame(last, author)) return this.#last;
    const { user, manager, verb, subresource } = author;
    const id = [user, manager, verb, subresource].join(SEPARATOR);
    const known = this.#indexes.get(id);
    this.#last = known ?? this.list.push(author) - 1;
    if (known === undefined) this.#indexes.set(id, this.#last);
    return this.#last;
  }
}

function isSame(a: HistoryAuthor, b: HistoryAuthor): boolean {
  return a.user === b.user && a.verb === b.verb && a.manager === b.manager && a.subresource === b.subresource;
}

/** How many records there are. */
export function countOf({ numbers }: RecordHead): number {
  return numbers.length / WIDTH;
}

/** The keys, one for each record. */
function keysOf(columns: RecordHead): readonly string[] {
  return countOf(columns) === 0 ? [] : columns.keys.split(SEPARATOR);
}

/** The greatest revision, and the latest time. */
export function newestOf({ numbers }: RecordHead): { readonly revision: number; readonly timeMs: number } {
  let revision = 0;
  let timeMs = 0;
  for (let at = 0; at < numbers.length; at += WIDTH) {
    revision = Math.max(revision, numbers[at]!);
    timeMs = Math.max(timeMs, numbers[at + 1]!);
  }
  return { revision, timeMs };
}

/** The records without their values. */
export function* changesOf(columns: RecordHead): Generator<Omit<HistoryRecord, 'value' | 'author'>> {
  const { numbers } = columns;
  let at = 0;
  for (const key of keysOf(columns)) {
    yield { key, revision: numbers[at]!, timeMs: numbers[at + 1]!, change: CHANGES[numbers[at + 2]!]! };
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
    const length = numbers[at + 4]!;
    const revision = numbers[at]!;
    if (isWanted === undefined || isWanted(key, revision))
      records.push({
        key,
        revision,
        timeMs: numbers[at + 1]!,
        change: CHANGES[numbers[at + 2]!]!,
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
  return { keys: filled.map(({ keys }) => keys).join(SEPARATOR), numbers, authors, values };
}
