/** Records by columns: what threads say to each other and what segments hold should be few objects. */
import type { HistoryAuthor, HistoryChange, HistoryRecord } from '../../history-log.ts';
import { pack, unpacker } from '../protocol.ts';

/** Records of equal index; their values lie packed one after the other. */
export interface RecordColumns {
  readonly keys: readonly string[];
  /** Of each record revision, time, code of the change, index of the author (-1: not known) and length of the value. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly authors: readonly HistoryAuthor[];
  readonly values: Uint8Array<ArrayBuffer>;
}

const WIDTH = 5;
const CHANGES: readonly HistoryChange[] = ['created', 'changed', 'deleted', 'known'];

export function toColumns(records: readonly HistoryRecord[]): RecordColumns {
  const numbers = new Float64Array(records.length * WIDTH);
  const authors: HistoryAuthor[] = [];
  const indexes = new Map<string, number>();
  const indexOf = (author: HistoryAuthor | undefined): number => {
    if (author === undefined) return -1;
    const { user, manager, verb, subresource } = author;
    const id = `${user}\0${manager}\0${verb}\0${subresource}`;
    const known = indexes.get(id);
    if (known !== undefined) return known;
    indexes.set(id, authors.length);
    return authors.push(author) - 1;
  };
  let at = 0;
  for (const { revision, timeMs, change, author, value } of records) {
    numbers[at] = revision;
    numbers[at + 1] = timeMs;
    numbers[at + 2] = CHANGES.indexOf(change);
    numbers[at + 3] = indexOf(author);
    numbers[at + 4] = value.length;
    at += WIDTH;
  }
  return { keys: records.map(({ key }) => key), numbers, authors, values: pack(records.map(({ value }) => value)) };
}

/** The records for which `isWanted` holds; their values are copies. */
export function fromColumns(
  columns: RecordColumns,
  isWanted: (key: string) => boolean = () => true,
): readonly HistoryRecord[] {
  const { keys, numbers, authors, values } = columns;
  const records: HistoryRecord[] = [];
  let offset = 0;
  for (const [index, key] of keys.entries()) {
    const [revision, timeMs, change, author, length] = numbers.subarray(index * WIDTH, (index + 1) * WIDTH);
    if (isWanted(key))
      records.push({
        key,
        revision: revision!,
        timeMs: timeMs!,
        change: CHANGES[change!]!,
        author: authors[author!],
        value: unpacker(values.subarray(offset))(length!),
      });
    offset += length!;
  }
  return records;
}
