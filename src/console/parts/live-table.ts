/** One list on the page: its rows, kept true by a watch, and told at most once a frame. */
import { signal } from '@preact/signals';
import { type RowOrder, RowStore } from '../api/row-store.ts';
import type { Column } from '../api/table.ts';
import { followTable, type ListQuery, type ListState, type RowChange } from '../api/table-list.ts';

/** What keeps the rows of a list. */
export interface RowKeeper {
  /** Called before rows come, where their cells depend on the columns. */
  setColumns?(columns: readonly Column[]): void;
  apply(changes: readonly RowChange[]): void;
  /** Drops rows that are not among these. */
  keep(uids: ReadonlySet<string>): void;
  clear(): void;
}

/** Rows of any keeper. */
export class LiveList<T extends RowKeeper> {
  readonly rows: T;
  readonly columns = signal<readonly Column[]>([]);
  readonly state = signal<ListState>({ kind: 'loading' });
  /** Rows that the first reading has yet to bring. */
  readonly remaining = signal(0);
  /** Rises with every change of the rows, at most once a frame. */
  readonly version = signal(0);
  #life: AbortController | undefined;
  #frame = 0;

  constructor(rows: T) {
    this.rows = rows;
  }

  /** Stops, and has no rows. */
  clear(): void {
    this.stop();
    this.rows.clear();
    this.remaining.value = 0;
    this.#changed();
  }

  /** Begins anew with what this asks for. */
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

  /** Whether it follows anything. */
  get following(): boolean {
    return this.#life !== undefined;
  }

  stop(): void {
    this.#life?.abort();
    this.#life = undefined;
  }

  /** Changes the rows, and tells so. */
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

/** A list whose rows stand in an order. */
export class LiveTable extends LiveList<RowStore> {
  constructor() {
    super(new RowStore());
  }

  setOrder(order: RowOrder): void {
    this.change(() => this.rows.setOrder(order));
  }
}
