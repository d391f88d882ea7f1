/** Statements that are prepared at their first use and kept by their text, with the type of their rows. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';

/** Rows by name of column. */
export type AnyRow = Record<string, SQLOutputValue>;

/** A prepared statement whose rows have the type that its text gives them. */
export interface Statement<Row> {
  run(...parameters: readonly SQLInputValue[]): { readonly lastInsertRowid: number | bigint };
  get(...parameters: readonly SQLInputValue[]): Row | undefined;
  all(...parameters: readonly SQLInputValue[]): Row[];
  iterate(...parameters: readonly SQLInputValue[]): Iterable<Row>;
}

/** The statements of one open database. */
export class PreparedStatements {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * `arrays`: rows are arrays of the columns, which are faster to create than objects. Always the same for one text.
   */
  prepare<Row extends object = AnyRow>(text: string, arrays = false): Statement<Row> {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#database.prepare(text);
      statement.setReturnArrays(arrays);
      this.#statements.set(text, statement);
    }
    // The row's type is known from the text alone.
    return statement as unknown as Statement<Row>;
  }
}
