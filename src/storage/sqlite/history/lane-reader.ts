/**
 * Reads a lane backwards from its newest segment: the keys that have changed after a revision, and the values of some keys at
 * one. A request reads a bounded part and returns where the next one continues, so that no reader delays the worker's appends.
 */
import { fnv32a } from '../../../base/fnv.ts';
import type { ChangedKeysQuery, HistoryFound, HistoryLane, HistoryPart, StatesQuery } from '../../history-log.ts';
import type { HistoryRecord } from '../../history-record.ts';
import { compareKeys } from '../../key-order.ts';
import type { PreparedStatements } from '../prepared-statements.ts';
import { changesOf, fromColumns, type RecordColumns } from './columns.ts';
import { decodeSegment, mayHold } from './segment.ts';

interface SegmentRow {
  readonly id: number;
  readonly newest: number;
  readonly raw: number;
}

const NO_VALUE = new Uint8Array();

export class LaneReader {
  readonly #statements: PreparedStatements;

  constructor(statements: PreparedStatements) {
    this.#statements = statements;
  }

  /** The newest change that was seen at this time or before; undefined when none is kept. */
  revisionAt(lane: HistoryLane, timeMs: number): number | undefined {
    // Of segments that end later, the oldest may begin before that time.
    const [later] = this.#rows<SegmentRow>(
      'SELECT id, newest, raw FROM segment WHERE lane = ? AND ended > ? ORDER BY id LIMIT 1',
      lane,
      timeMs,
    );
    let newest: number | undefined;
    if (later !== undefined)
      for (const { revision, timeMs: seenMs, change } of changesOf(this.#segment(later.id)))
        if (change !== 'known' && seenMs <= timeMs) newest = Math.max(newest ?? 0, revision);
    if (newest !== undefined) return newest;
    const [before] = this.#rows<SegmentRow>(
      'SELECT id, newest, raw FROM segment WHERE lane = ? AND id < ? ORDER BY id DESC LIMIT 1',
      lane,
      later?.id ?? Number.MAX_SAFE_INTEGER,
    );
    return before?.newest;
  }

  changedKeys(query: ChangedKeysQuery): HistoryFound {
    const { prefix, start, after } = query;
    const oldest = new Map<string, HistoryRecord>();
    const { next, bytes } = this.#read(query, ({ id, newest, raw }) => {
      if (newest <= after) return undefined;
      const changes = [...changesOf(this.#segment(id))];
      for (const { key, revision, timeMs, change } of changes.toReversed()) {
        if (revision <= after || change === 'known') continue;
        if (!key.startsWith(prefix) || compareKeys(key, start) < 0) continue;
        oldest.set(key, { key, revision, timeMs, change, value: NO_VALUE });
      }
      return raw;
    });
    return { records: [...oldest.values()], next, bytes };
  }

  states(query: StatesQuery): HistoryFound {
    const open = new Map(query.keys.map((key) => [key, fnv32a(key)]));
    const records: HistoryRecord[] = [];
    const { next, bytes } = this.#read(query, ({ id, raw }) => {
      if (open.size === 0) return undefined;
      const hashes = this.#hashes(id);
      const held = new Set([...open].filter(([, hash]) => mayHold(hashes, hash)).map(([key]) => key));
      if (held.size === 0) return hashes.length;
      const newest = new Map<string, HistoryRecord>();
      for (const record of fromColumns(this.#segment(id), (key, revision) => held.has(key) && revision <= query.at))
        if (record.change !== 'known' || newest.get(record.key)?.revision !== record.revision)
          newest.set(record.key, record);
      for (const [key, record] of newest) {
        open.delete(key);
        records.push(record);
      }
      return raw;
    });
    return { records, next: open.size === 0 ? undefined : next, bytes };
  }

  /** Segments from the place on, the newest first, until the part is full. `read` returns how much it read; undefined ends it. */
  #read(
    { lane, from, maxBytes }: HistoryPart,
    read: (row: SegmentRow) => number | undefined,
  ): { readonly next: number | undefined; readonly bytes: number } {
    let bytes = 0;
    const rows = this.#statements.prepare<SegmentRow>(
      'SELECT id, newest, raw FROM segment WHERE lane = ? AND id <= ? ORDER BY id DESC',
    );
    for (const row of rows.iterate(lane, this.#beginning(lane, from))) {
      if (bytes >= maxBytes) return { next: row.newest, bytes };
      const size = read(row);
      if (size === undefined) break;
      bytes += size;
    }
    return { next: undefined, bytes };
  }

  /** The segment with that change: segments may have been merged since the part before. */
  #beginning(lane: HistoryLane, from: number | undefined): number {
    if (from === undefined) return Number.MAX_SAFE_INTEGER;
    const [segment] = this.#rows<{ id: number }>(
      'SELECT id FROM segment WHERE lane = ? AND newest >= ? ORDER BY id LIMIT 1',
      lane,
      from,
    );
    return segment?.id ?? 0;
  }

  #segment(id: number): RecordColumns {
    return decodeSegment(
      this.#rows<{ bytes: Uint8Array }>('SELECT bytes FROM content WHERE segment = ?', id)[0]!.bytes,
    );
  }

  #hashes(id: number): Uint8Array {
    return this.#rows<{ hashes: Uint8Array }>('SELECT hashes FROM directory WHERE segment = ?', id)[0]!.hashes;
  }

  #rows<T extends object>(sql: string, ...values: (string | number)[]): T[] {
    return this.#statements.prepare<T>(sql).all(...values);
  }
}
