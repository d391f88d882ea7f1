/** A few rows of a live list for a component, as long as it is shown. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { RowStore } from '../../api/row-store.ts';
import type { Column, Row } from '../../api/table.ts';
import { followTable, type ListQuery } from '../../api/table-list.ts';

export interface LiveRows {
  readonly columns: readonly Column[];
  /** In the order of their names. */
  readonly rows: readonly Row[];
  /** How many there are, shown or not. */
  readonly count: number;
}

const NONE: LiveRows = { columns: [], rows: [], count: 0 };

/** So many rows are drawn; a list has the rest. */
const SHOWN = 100;

/** Without a query, none. */
export function useRows(query: ListQuery | undefined, newestFirst = false): LiveRows {
  const [live, setLive] = useState<LiveRows>(NONE);
  const store = useMemo(() => new RowStore(), []);
  useEffect(() => {
    store.clear();
    setLive(NONE);
    if (query === undefined) return undefined;
    if (newestFirst) store.setOrder({ shows: () => true, compare: (a, b) => b.createdMs - a.createdMs });
    const life = new AbortController();
    let columns: readonly Column[] = [];
    let frame = 0;
    const update = (): void => {
      frame = 0;
      if (!life.signal.aborted) setLive({ columns, rows: store.shown.slice(0, SHOWN), count: store.size });
    };
    const changed = (work: () => void): void => {
      if (life.signal.aborted) return;
      work();
      if (frame === 0) frame = requestAnimationFrame(update);
    };
    void followTable(
      query,
      {
        columns: (found) => changed(() => (columns = found)),
        change: (changes) => changed(() => store.apply(changes)),
        complete: (uids) => changed(() => store.keep(uids)),
        remaining: () => undefined,
        state: () => undefined,
      },
      life.signal,
    );
    return () => life.abort();
  }, [query === undefined ? '' : Object.values({ ...query, kind: query.kind.resource + query.kind.group }).join(' ')]);
  return live;
}
