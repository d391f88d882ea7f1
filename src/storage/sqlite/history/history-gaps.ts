/** The spans of revisions whose changes are missing, by lane. Spans that touch are one; beyond a hundred the oldest are joined. */
import type { HistoryGap, HistoryLane } from '../../history-log.ts';
import type { PreparedStatements } from '../prepared-statements.ts';

const MAX_GAPS = 100;

interface LastGap {
  readonly id: number;
  readonly until: number;
}

/** The table of gaps. Its calls belong into a transaction of the caller. */
export class HistoryGaps {
  readonly #statements: PreparedStatements;

  constructor(statements: PreparedStatements) {
    this.#statements = statements;
  }

  add({ lane, after, until, changes }: HistoryGap): void {
    const last = this.#statements
      .prepare<LastGap>('SELECT rowid AS id, until FROM gap WHERE lane = ? ORDER BY rowid DESC LIMIT 1')
      .get(lane);
    if (last !== undefined && last.until >= after)
      this.#statements
        .prepare('UPDATE gap SET until = ?, changes = changes + ? WHERE rowid = ?')
        .run(until, changes, last.id);
    else this.#statements.prepare('INSERT INTO gap VALUES (?, ?, ?, ?)').run(lane, after, until, changes);
    const [first, second, ...rest] = this.list(lane);
    if (first !== undefined && second !== undefined && rest.length + 2 > MAX_GAPS) this.#join(first, second);
  }

  #join(first: HistoryGap, { lane, after }: HistoryGap): void {
    this.#statements.prepare('DELETE FROM gap WHERE lane = ? AND after = ?').run(lane, first.after);
    this.#statements
      .prepare('UPDATE gap SET after = ?, changes = changes + ? WHERE lane = ? AND after = ?')
      .run(first.after, first.changes, lane, after);
  }

  /** From the oldest on. */
  list(lane: HistoryLane): readonly HistoryGap[] {
    return this.#statements
      .prepare<HistoryGap>('SELECT lane, after, until, changes FROM gap WHERE lane = ? ORDER BY after')
      .all(lane);
  }

  /** Forgets gaps of what has been pruned. */
  dropUntil(lane: HistoryLane, revision: number): void {
    this.#statements.prepare('DELETE FROM gap WHERE lane = ? AND until <= ?').run(lane, revision);
  }
}
