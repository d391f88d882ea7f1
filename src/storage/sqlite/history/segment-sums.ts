/**
 * How much the segments of each lane hold, in memory: the file would have to go through all of them, which a full history
 * has tens of thousands of, at each batch.
 */
import type { HistoryLane } from '../../history-log.ts';
import type { PreparedStatements } from '../prepared-statements.ts';

/** Bytes in the file and records. */
export interface LaneSums {
  readonly size: number;
  readonly records: number;
}

/** The sums of the segments in the file. Code that changes a segment updates them too. */
export class SegmentSums {
  readonly #statements: PreparedStatements;
  #lanes: Record<HistoryLane, LaneSums>;

  constructor(statements: PreparedStatements) {
    this.#statements = statements;
    this.#lanes = this.#read();
  }

  of(lane: HistoryLane): LaneSums {
    return this.#lanes[lane];
  }

  add(lane: HistoryLane, { size, records }: LaneSums): void {
    const before = this.#lanes[lane];
    this.#lanes[lane] = { size: before.size + size, records: before.records + records };
  }

  drop(lane: HistoryLane, { size, records }: LaneSums): void {
    this.add(lane, { size: -size, records: -records });
  }

  /** Takes them from the file: after a transaction that was rolled back, or where all was deleted. */
  readAnew(): void {
    this.#lanes = this.#read();
  }

  #read(): Record<HistoryLane, LaneSums> {
    const sumsOf = (lane: HistoryLane): LaneSums =>
      this.#statements
        .prepare<LaneSums>('SELECT total(size) AS size, total(records) AS records FROM segment WHERE lane = ?')
        .all(lane)[0]!;
    return { objects: sumsOf('objects'), events: sumsOf('events') };
  }
}
