/** A few rows of a list for a component, as long as it is shown. */
import { useMemo } from 'preact/hooks';
import type { Kind } from '../../api/kinds.ts';
import type { Column, Row } from '../../api/table.ts';
import { isRead } from '../../api/table-list.ts';
import { useLiveTable, type Wanted } from '../../parts/use-live-table.ts';

export interface ShownRows {
  readonly columns: readonly Column[];
  /** In the order of their names, or the newest first. */
  readonly rows: readonly Row[];
  /** How many there are, shown or not. */
  readonly count: number;
  /** Whether all of them are there. */
  readonly isRead: boolean;
}

/** The number of rows that are drawn; a list has the rest. */
const SHOWN = 100;

/** Without a kind, none. */
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
