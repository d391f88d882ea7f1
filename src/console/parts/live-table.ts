/** One list on the page: its rows, kept current by a watch and published at most once a frame. */
import { signal } from '@preact/signals';
import { type RowOrder, RowStore } from '../api/row-store.ts';
import type { Column } from '../api/table.ts';
import { followTable, type ListQuery, type ListState, type RowChange } from '../api/table-list.ts';

/** Stores the rows of a list. */
export interface RowKeeper {
  /** Called before rows are delivered, when their cells depend on the columns. */
  setColumns?(columns: readonly Column[]): void;
  apply(changes: readonly RowChange[]): void;
  /** Removes rows whose uids are not in the set. */
  keep(uids: ReadonlySet<string>): void;
  clear(): void;
}

/** A live list of rows in any store. */
export class LiveList<T extends RowKeeper> {
  readonly rows: T;
  readonly columns = signal<readonly Column[]>([]);
  readonly state = signal<ListState>({ kind: 'loading' });
  /** The number of rows that the first read has not delivered yet. */
  readonly remaining = signal(0);
  /** Incremented with changes of the rows, at most once a frame. */
  readonly version = signal(0);
  #life: AbortController | undefined;
  #frame = 0;

  constructor(rows: T) {
    this.rows = rows;
  }

  /** Stops following and removes all rows. */
  clear(): void {
    this.stop();
    this.rows.clear();
    this.remaining.value = 0;
    this.#changed();
  }

  /** Starts to follow another query. */
  follow(query: ListQuery): void {
    this.clear();
    const life = new AbortController();
    this.#life = life;
    const current = (work: () => void): void => {
      if (!life.signal.aborted) work();
    };
    const following = followTable(
      query,
      {
        columns: (columns) =>
          current(() => {
            this.rows.setColumns?.(columns);
            this.columns.value = columns;
          }),
        change: (changes) => current(() => this.change(() => this.rows.apply(changes))),
        complete: (uids) => current(() => this.change(() => this.rows.keep(uids))),
        remaining: (count) => current(() => (this.remaining.value = count)),
        state: (state) => current(() => (this.state.value = state)),
      },
      life.signal,
    );
    following.catch((error: unknown) => {
      this.stop();
      throw error;
    });
  }

  /** Whether a query is followed. */
  get following(): boolean {
    return this.#life !== undefined;
  }

  stop(): void {
    this.#life?.abort();
    this.#life = undefined;
  }

  /** Runs a change of the rows and publishes it. */
  change(work: () => void): void {
    work();
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => this.#changed());
  }

  #changed(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.version.value++;
  }
}

/** A live list of rows in display order. */
export class LiveTable extends LiveList<RowStore> {
  constructor() {
    super(new RowStore());
  }

  setOrder(order: RowOrder): void {
    this.change(() => this.rows.setOrder(order));
  }
}
