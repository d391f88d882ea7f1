/**
 * Records of one lane, packed as they are added: their bytes are then still in the processor's caches, and nothing is kept of
 * a change but its key's text and its place in two long buffers. Where the values end up is the memory that is sent to the
 * history's thread, with room for the rest of a segment before them (`sqlite/history/packed-segment.ts`).
 */
import type { HistoryAuthor, HistoryChange, HistoryRecord } from './history-record.ts';

/** Records of equal index, without their values. */
export interface RecordHead {
  /** The keys, joined by NUL, which no recorded key contains. */
  readonly keys: string;
  /** For each record: revision, time, code of the change, index of the author (-1: unknown), length of the value. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly authors: readonly HistoryAuthor[];
}

/** The numbers of a record, by their place. */
export const RECORD = { revision: 0, timeMs: 1, change: 2, author: 3, length: 4, width: 5 } as const;
export const KEY_SEPARATOR = '\0';
export const CHANGES: readonly HistoryChange[] = ['created', 'changed', 'deleted', 'known'];

const { width: WIDTH } = RECORD;
const FIRST_RECORDS = 128;
const FIRST_BYTES = 64 * 1024;
/** Authors are reported just after their change: at most the changes of one commit lie in between. */
const RECENT_RECORDS = 64;
const NO_AUTHOR = -1;
const KNOWN = CHANGES.indexOf('known');

export class HistoryRecords implements Iterable<HistoryRecord> {
  readonly #keys: string[] = [];
  readonly #authors = new Authors();
  #numbers = new Float64Array(FIRST_RECORDS * WIDTH);
  #memory: Buffer<ArrayBuffer>;
  #valuesAt: number;
  #end: number;

  /** Packs into `spare` if given; its content is overwritten. */
  constructor(spare: ArrayBuffer = newMemory(FIRST_BYTES)) {
    this.#memory = Buffer.from(spare);
    this.#end = this.#valuesAt = roomBefore(spare.byteLength);
  }

  static of(records: readonly HistoryRecord[]): HistoryRecords {
    const bytes = records.reduce((sum, { value }) => sum + value.length, 0);
    const made = new HistoryRecords(newMemory(Math.ceil(bytes * 1.5)));
    for (const record of records) made.add(record);
    return made;
  }

  get count(): number {
    return this.#keys.length;
  }

  get valueBytes(): number {
    return this.#end - this.#valuesAt;
  }

  /** Adds a record, with another form of its value if given. */
  add({ key, revision, timeMs, change, author, value: plain }: HistoryRecord, value = plain): void {
    const at = this.#keys.length * WIDTH;
    if (at === this.#numbers.length) this.#growNumbers();
    const numbers = this.#numbers;
    numbers[at] = revision;
    numbers[at + RECORD.timeMs] = timeMs;
    numbers[at + RECORD.change] = CHANGES.indexOf(change);
    numbers[at + RECORD.author] = author === undefined ? NO_AUTHOR : this.#authors.indexOf(author);
    numbers[at + RECORD.length] = value.length;
    this.#keys.push(key);
    if (this.#end + value.length > this.#memory.length) this.#grow(value.length);
    this.#memory.set(value, this.#end);
    this.#end += value.length;
  }

  #growNumbers(): void {
    const grown = new Float64Array(this.#numbers.length * 2);
    grown.set(this.#numbers);
    this.#numbers = grown;
  }

  #grow(more: number): void {
    const bytes = this.valueBytes;
    let size = this.#memory.length;
    while (size - roomBefore(size) < bytes + more) size = Math.max(FIRST_BYTES, size * 2);
    this.#move(newMemory(size), roomBefore(size));
  }

  #move(memory: ArrayBuffer, valuesAt: number): void {
    const moved = Buffer.from(memory);
    moved.set(this.values, valuesAt);
    this.#end = valuesAt + this.valueBytes;
    this.#valuesAt = valuesAt;
    this.#memory = moved;
  }

  /** Sets the author of a change if it is one of the last; otherwise returns false. */
  noteAuthor(revision: number, author: HistoryAuthor): boolean {
    const numbers = this.#numbers;
    const least = Math.max(0, this.count - RECENT_RECORDS) * WIDTH;
    for (let at = (this.count - 1) * WIDTH; at >= least; at -= WIDTH)
      if (numbers[at] === revision && numbers[at + RECORD.change] !== KNOWN) {
        numbers[at + RECORD.author] = this.#authors.indexOf(author);
        return true;
      }
    return false;
  }

  /** Sets authors of changes that have none. */
  addAuthors(authorOf: (revision: number) => HistoryAuthor | undefined): void {
    const numbers = this.#numbers;
    for (let at = 0; at < this.count * WIDTH; at += WIDTH) {
      if (numbers[at + RECORD.author] !== NO_AUTHOR || numbers[at + RECORD.change] === KNOWN) continue;
      const author = authorOf(numbers[at]!);
      if (author !== undefined) numbers[at + RECORD.author] = this.#authors.indexOf(author);
    }
  }

  /** Removes and returns the first record seen after this time and all that follow it. */
  cutAfter(timeMs: number): readonly HistoryRecord[] {
    const found = this.#firstAfter(timeMs);
    if (found === undefined) return [];
    const later = [...this].slice(found);
    this.#keys.length = found;
    this.#end -= later.reduce((sum, { value }) => sum + value.length, 0);
    return later;
  }

  #firstAfter(timeMs: number): number | undefined {
    if (timeMs === Infinity) return undefined;
    for (let index = 0; index < this.count; index++)
      if (this.#numbers[index * WIDTH + RECORD.timeMs]! > timeMs) return index;
    return undefined;
  }

  revisions(): readonly number[] {
    return this.#keys.map((_, index) => this.#numbers[index * WIDTH]!);
  }

  /** The records; their values are copies. */
  *[Symbol.iterator](): Generator<HistoryRecord> {
    let offset = this.#valuesAt;
    for (const [index, key] of this.#keys.entries()) {
      const at = index * WIDTH;
      const length = this.#numbers[at + RECORD.length]!;
      yield {
        key,
        revision: this.#numbers[at]!,
        timeMs: this.#numbers[at + RECORD.timeMs]!,
        change: CHANGES[this.#numbers[at + RECORD.change]!]!,
        author: this.#authors.list[this.#numbers[at + RECORD.author]!],
        value: new Uint8Array(this.#memory.subarray(offset, offset + length)),
      };
      offset += length;
    }
  }

  head(): RecordHead {
    const numbers = this.#numbers.subarray(0, this.count * WIDTH);
    return { keys: this.#keys.join(KEY_SEPARATOR), numbers, authors: this.#authors.list };
  }

  /** The values, one after the other: a view of the memory. */
  get values(): Uint8Array<ArrayBuffer> {
    return this.#memory.subarray(this.#valuesAt, this.#end);
  }

  /** The values with `room` bytes of the same memory before them. */
  valuesWithRoom(room: number): Buffer<ArrayBuffer> {
    if (room > this.#valuesAt) this.#move(newMemory(room + this.valueBytes), room);
    return this.#memory.subarray(this.#valuesAt - room, this.#end);
  }
}

/** Room for numbers and keys before the values; pages that are not needed are never touched. */
function roomBefore(size: number): number {
  return Math.floor(size / 4);
}

/** Uninitialized memory of its own, for it changes threads: every byte that is read is written before. */
export function newMemory(size: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(size).buffer as ArrayBuffer;
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
    const id = [user, manager, verb, subresource].join(KEY_SEPARATOR);
    const existing = this.#indexes.get(id);
    this.#last = existing ?? this.list.push(author) - 1;
    if (existing === undefined) this.#indexes.set(id, this.#last);
    return this.#last;
  }
}

function isSame(a: HistoryAuthor, b: HistoryAuthor): boolean {
  return a.user === b.user && a.verb === b.verb && a.manager === b.manager && a.subresource === b.subresource;
}
