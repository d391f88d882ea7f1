/** Finds the stored rows of a range: the newest ones by the index in memory, those of a past revision by the history. */
import { StoreError } from '../store.ts';
import type { EntryRow, UndoneRow } from './entry-rows.ts';
import type { KeyIndex } from './key-index.ts';
import { PastRows, mergeRows, type RowsAtRevision } from './past-rows.ts';
import type { PreparedStatements } from './prepared-statements.ts';
import * as sql from './statements.ts';

interface RowRange {
  readonly start: string;
  readonly end: string;
  readonly revision: number;
  /** `revision` is that of the last change. */
  readonly isNewest: boolean;
}

export class StoredRows {
  readonly #statements: PreparedStatements;
  readonly #index: KeyIndex;
  readonly #past = new PastRows();

  constructor(statements: PreparedStatements, index: KeyIndex) {
    this.#statements = statements;
    this.#index = index;
  }

  /** The row that a revision has written. */
  row(revision: number): EntryRow {
    const row = this.#statements.prepare<EntryRow>(sql.SELECT_ROW).get(revision);
    if (row === undefined) throw new StoreError('corrupt', `the store's file lacks revision ${revision}`);
    return row;
  }

  /** Revisions of the entries in the range, in key order, beginning at index `from`. */
  find({ start, end, revision, isNewest }: RowRange): { readonly rows: readonly number[]; readonly from: number } {
    if (isNewest) return { rows: this.#newest(start, end), from: 0 };
    return this.#past.rows({ start, end, revision }, () => this.#at(start, end, revision));
  }

  #newest(start: string, end: string): number[] {
    const rows: number[] = [];
    for (const key of this.#index.range(start, end)) rows.push(this.#index.get(key)!.revision);
    return rows;
  }

  /** At an earlier revision: keys that have not changed since, and for others the state before their first change since. */
  #at(start: string, end: string, revision: number): RowsAtRevision {
    const first = new Map<string, number>();
    for (const { key, previous } of this.#statements
      .prepare<UndoneRow>(sql.SELECT_UNDONE)
      .iterate(revision, start, end))
      if (!first.has(key)) first.set(key, previous);
    for (const [key, previous] of first) if (previous === 0) first.delete(key);
    return mergeRows(this.#unchangedSince(start, end, revision), first);
  }

  *#unchangedSince(start: string, end: string, revision: number): IterableIterator<readonly [string, number]> {
    for (const key of this.#index.range(start, end)) {
      const live = this.#index.get(key)!;
      if (live.revision <= revision) yield [key, live.revision];
    }
  }
}
