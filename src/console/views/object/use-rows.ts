/** The first rows of a list for a component while it is shown. */
import { useMemo } from 'preact/hooks';
import type { Kind } from '../../api/kinds.ts';
import type { Column, Row } from '../../api/table.ts';
import { isRead } from '../../api/table-list.ts';
import { useLiveTable, type Wanted } from '../../parts/use-live-table.ts';

export interface ShownRows {
  readonly columns: readonly Column[];
  /** By name, or the newest first. */
  readonly rows: readonly Row[];
  /** The number of all rows, shown or not. */
  readonly count: number;
  /** Whether all rows have been read. */
  readonly isRead: boolean;
}

/** The limit of rows that are shown; a link leads to the whole list. */
const SHOWN = 100;

/** Without a kind the list is empty. */
export function useRows(kind: Kind | undefined, wanted: Wanted, newestFirst = false): ShownRows {
  const table = useLiveTable(kind, wanted);
  useMemo(() => {
    if (newestFirst) table.setOrder({ shows: () => true, compare: (a, b) => b.createdMs - a.createdMs });
  }, [table, newestFirst]);
  void table.version.value; // the rows change with it
  return {
    columns: table.columns.value,
    rows: table.rows.shown.slice(0, SHOWN),
    count: table.rows.size,
    isRead: isRead(table.state.value),
  };
}
