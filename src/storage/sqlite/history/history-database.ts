/**
 * Object history in one SQLite file, synchronous; runs in a worker. A batch becomes a segment of each lane, small segments
 * at the end of a lane are merged, eight at a time, and the oldest go when there is too much or they are too old.
 */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { fnv32a } from '../../../base/fnv.ts';
import {
  HISTORY_LANES,
  EVENTS_SHARE,
  type HistoryGap,
  type HistoryLane,
  type HistoryLimits,
  type HistoryMoment,
  type HistoryPage,
  type HistoryQuery,
  type HistoryStatus,
  type LaneStatus,
} from '../../history-log.ts';
import { PreparedStatements } from '../prepared-statements.ts';
import { HistoryGaps } from './history-gaps.ts';
import { makePrivate } from '../private-file.ts';
import { fromColumns, joinColumns } from './columns.ts';
import { LaneReader } from './lane-reader.ts';
import { openHistorySchema } from './history-schema.ts';
import { packColumns, type PackedSegment } from './packed-segment.ts';
import { PageBuilder } from './page-builder.ts';
import { decodeSegment, encodeSegment, mayHold } from './segment.ts';
import { SegmentSums } from './segment-sums.ts';

/** The number of small segments that are merged into one. */
const MERGED_SEGMENTS = 8;
/** Longer segments are not merged: reading one record decompresses the whole segment. */
const SEGMENT_RAW_BYTES = 1024 * 1024;
/** A segment of this many is not merged either: eight of them would be too long. */
const MERGEABLE_RAW_BYTES = SEGMENT_RAW_BYTES / 2;
/** The level of segments that are never merged. */
const LAST_LEVEL = 9;

export interface PackedBatch {
  readonly lanes: Readonly<Partial<Record<HistoryLane, PackedSegment>>>;
  readonly gaps: readonly HistoryGap[];
  readonly covered: number;
}

interface SegmentRow {
  readonly id: number;
  readonly level: number;
  readonly raw: number;
}

interface DirectoryRow {
  readonly id: number;
  readonly hashes: Uint8Array;
}

/** An open history. Throws SQLite's errors. */
export class HistoryDatabase {
  readonly #database: DatabaseSync;
  readonly #limits: HistoryLimits;
  readonly #statements: PreparedStatements;
  readonly #gaps: HistoryGaps;
  readonly #sums: SegmentSums;
  /** The way back through a lane. */
  readonly lanes: LaneReader;

  constructor(path: string, limits: HistoryLimits) {
    if (path !== ':memory:') makePrivate(path);
    this.#database = new DatabaseSync(path, { timeout: 0 });
    this.#limits = limits;
    this.#statements = new PreparedStatements(this.#database);
    this.#gaps = new HistoryGaps(this.#statements);
    this.lanes = new LaneReader(this.#statements);
    try {
      openHistorySchema(this.#database);
      this.#sums = new SegmentSums(this.#statements);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** Forgets everything when it is of another store; true when it was. */
  open({ nowRevision, sinceMs, nowMs }: Readonly<Record<'nowRevision' | 'sinceMs' | 'nowMs', number>>): boolean {
    const isForeign = this.#covered() > nowRevision;
    this.#atomically(() => {
      if (isForeign)
        for (const table of ['segment', 'directory', 'content', 'gap', 'lane', 'covered'])
          this.#run(`DELETE FROM ${table}`);
      if (isForeign) this.#sums.readAnew();
      if (this.#covered() === 0) this.#begin(nowRevision, sinceMs);
      this.#pruneAll(nowMs);
    });
    return isForeign;
  }

  #begin(revision: number, sinceMs: number): void {
    for (const lane of HISTORY_LANES)
      this.#run('INSERT OR REPLACE INTO lane VALUES (?, ?, ?)', lane, revision, Math.ceil(sinceMs));
    this.#run('INSERT INTO covered VALUES (?)', revision);
  }

  append({ lanes, gaps, covered }: PackedBatch, nowMs: number): HistoryStatus {
    this.#atomically(() => {
      for (const gap of gaps) this.#gaps.add(gap);
      for (const lane of HISTORY_LANES) {
        const packed = lanes[lane];
        if (packed === undefined) continue;
        this.#insert(lane, packed, 0);
        this.#mergeTail(lane);
      }
      this.#run('UPDATE covered SET revision = max(revision, ?)', covered);
      this.#pruneAll(nowMs);
    });
    return this.status();
  }

  #insert(lane: HistoryLane, packed: PackedSegment, level: number): void {
    const { records, newest } = packed;
    const { bytes, hashes } = encodeSegment(packed);
    const rawBytes = packed.bytes.length;
    const index = new Uint8Array(hashes.buffer);
    const sums = { records, size: bytes.length + index.length };
    const { lastInsertRowid: id } = this.#run(
      'INSERT INTO segment (lane, level, newest, ended, records, raw, size) VALUES (?, ?, ?, ?, ?, ?, ?)',
      lane,
      rawBytes > MERGEABLE_RAW_BYTES ? LAST_LEVEL : level,
      newest.revision,
      Math.ceil(newest.timeMs),
      records,
      rawBytes,
      sums.size,
    );
    this.#sums.add(lane, sums);
    this.#run('INSERT INTO directory VALUES (?, ?)', id, index);
    this.#run('INSERT INTO content VALUES (?, ?)', id, bytes);
  }

  /** Eight small segments of one level become one of the next, so that a record is written again a few times at most. */
  #mergeTail(lane: HistoryLane): void {
    for (let level = 0; level < LAST_LEVEL; level++) {
      const tail = this.#rows<SegmentRow>(
        'SELECT id, level, raw FROM segment WHERE lane = ? ORDER BY id DESC LIMIT ?',
        lane,
        MERGED_SEGMENTS,
      );
      if (tail.length < MERGED_SEGMENTS || tail.some((row) => row.level !== level)) return;
      const isTooMuch = tail.reduce((sum, { raw }) => sum + raw, 0) > SEGMENT_RAW_BYTES;
      const merged = isTooMuch ? [] : tail.toReversed().map(({ id }) => decodeSegment(this.#content(id)));
      for (const { id } of tail)
        if (isTooMuch) this.#run('UPDATE segment SET level = ? WHERE id = ?', LAST_LEVEL, id);
        else this.#drop(id);
      if (isTooMuch) return;
      this.#insert(lane, packColumns(joinColumns(merged)), level + 1);
    }
  }

  #content(id: number): Uint8Array {
    return this.#rows<{ bytes: Uint8Array }>('SELECT bytes FROM content WHERE segment = ?', id)[0]!.bytes;
  }

  #drop(id: number | bigint): void {
    this.#run('DELETE FROM content WHERE segment = ?', id);
    this.#run('DELETE FROM directory WHERE segment = ?', id);
    const [dropped] = this.#rows<{ lane: HistoryLane; size: number; records: number }>(
      'DELETE FROM segment WHERE id = ? RETURNING lane, size, records',
      id,
    );
    if (dropped !== undefined) this.#sums.drop(dropped.lane, dropped);
  }

  prune(nowMs: number): HistoryStatus {
    this.#atomically(() => this.#pruneAll(nowMs));
    return this.status();
  }

  #pruneAll(nowMs: number): void {
    const { sizeBytes, ageMs } = this.#limits;
    let dropped = 0;
    for (const lane of HISTORY_LANES) {
      const most = sizeBytes * (lane === 'events' ? EVENTS_SHARE : 1 - EVENTS_SHARE);
      for (;;) {
        const [oldest] = this.#rows<{ id: number; ended: number; newest: number }>(
          'SELECT id, ended, newest FROM segment WHERE lane = ? ORDER BY id LIMIT 1',
          lane,
        );
        if (oldest === undefined || (this.#sums.of(lane).size <= most && oldest.ended >= nowMs - ageMs)) break;
        this.#drop(oldest.id);
        this.#run(
          'UPDATE lane SET since = max(since, ?), since_ms = max(since_ms, ?) WHERE name = ?',
          oldest.newest,
          oldest.ended,
          lane,
        );
        this.#gaps.dropUntil(lane, oldest.newest);
        dropped++;
      }
    }
    if (dropped > 0) this.#database.exec('PRAGMA incremental_vacuum');
  }

  read(query: HistoryQuery, nowMs: number): HistoryPage {
    this.prune(nowMs);
    const { lane, key } = query;
    const page = new PageBuilder(query);
    const hash = fnv32a(key);
    // One row at a time: all hashes of a full history are 16 MB.
    const rows = this.#statements.prepare<DirectoryRow>(
      'SELECT id, hashes FROM segment JOIN directory ON segment = id WHERE lane = ? ORDER BY id DESC',
    );
    for (const row of rows.iterate(lane))
      if (
        mayHold(row.hashes, hash) &&
        !page.add(fromColumns(decodeSegment(this.#content(row.id)), (other) => other === key))
      )
        break;
    return { ...page.end(), gaps: this.#gaps.list(lane), status: this.#laneStatus(lane) };
  }

  locate({ lane, timeMs }: { readonly lane: HistoryLane; readonly timeMs: number }, nowMs: number): HistoryMoment {
    this.prune(nowMs);
    const status = this.#laneStatus(lane);
    return { revision: this.lanes.revisionAt(lane, timeMs) ?? status.since, gaps: this.#gaps.list(lane), status };
  }

  status(): HistoryStatus {
    return {
      covered: this.#covered(),
      lanes: { objects: this.#laneStatus('objects'), events: this.#laneStatus('events') },
    };
  }

  #laneStatus(lane: HistoryLane): LaneStatus {
    const [row] = this.#rows<Omit<LaneStatus, 'sizeBytes' | 'records'>>(
      `SELECT since, since_ms AS sinceMs,
         max(since, (SELECT coalesce(max(until), 0) FROM gap WHERE gap.lane = ?1)) AS baseline
       FROM lane WHERE name = ?1`,
      lane,
    );
    const { size, records } = this.#sums.of(lane);
    return { ...row!, sizeBytes: size, records };
  }

  #covered(): number {
    return this.#rows<{ revision: number }>('SELECT coalesce(max(revision), 0) AS revision FROM covered')[0]!.revision;
  }

  close(): void {
    this.#database.close();
  }

  #atomically(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      this.#sums.readAnew();
      throw error;
    }
  }

  #run(sql: string, ...values: SQLInputValue[]): { readonly lastInsertRowid: number | bigint } {
    return this.#statements.prepare(sql).run(...values);
  }

  #rows<T extends object>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.#statements.prepare<T>(sql).all(...values);
  }
}
