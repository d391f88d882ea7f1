/** Collects a page of one key's records from segments, the newest first. */
import type { HistoryPage, HistoryQuery } from '../../history-log.ts';
import type { HistoryRecord } from '../../history-record.ts';

const NO_VALUE = new Uint8Array();

/** A page under way. A `known` state gives way to the record of its change, which an older segment may have. */
export class PageBuilder {
  readonly #query: HistoryQuery;
  readonly #records: HistoryRecord[] = [];
  #bytes = 0;
  #next: HistoryRecord | undefined;

  constructor(query: HistoryQuery) {
    this.#query = query;
  }

  /** Takes a segment's records of the key, ascending; segments come in descending order. False: the page is full. */
  add(records: readonly HistoryRecord[]): boolean {
    const { before = Infinity, atMs = Infinity } = this.#query;
    for (const record of records.toReversed()) {
      if (record.revision >= before || record.timeMs > atMs) {
        this.#next = { ...record, value: NO_VALUE };
        continue;
      }
      const last = this.#records.at(-1);
      if (last?.revision === record.revision) {
        if (last.change === 'known') this.#records[this.#records.length - 1] = record;
        continue;
      }
      if (this.#isFull()) return false;
      this.#records.push(record);
      this.#bytes += record.value.length;
    }
    return true;
  }

  /** One more than requested: its existence sets `more`. */
  #isFull(): boolean {
    const { limit, maxBytes } = this.#query;
    return this.#records.length > limit || (this.#records.length > 1 && this.#bytes > maxBytes);
  }

  end(): Pick<HistoryPage, 'records' | 'more' | 'next'> {
    const { limit, maxBytes } = this.#query;
    let bytes = 0;
    const records: HistoryRecord[] = [];
    for (const record of this.#records) {
      bytes += record.value.length;
      if (records.length >= limit || (records.length > 0 && bytes > maxBytes))
        return { records, more: true, next: this.#next };
      records.push(record);
    }
    return { records, more: false, next: this.#next };
  }
}
