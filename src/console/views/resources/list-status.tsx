/** The number of rows, and whether the list is live. */
import { isRead } from '../../api/table-list.ts';
import { texts } from '../../app/texts.ts';
import type { LiveTable } from '../../parts/live-table.ts';
import { Liveness } from '../../parts/liveness.tsx';

export function ListStatus({ table }: { readonly table: LiveTable }) {
  void table.version.value; // the counts change with it
  const { list } = texts;
  const state = table.state.value;
  const left = table.remaining.value;
  const { size } = table.rows;
  if (state.kind === 'refused') return <span class="status" />;
  return (
    <span class="status" role="status">
      {size === 0 && !isRead(state) ? null : (
        <span class="dim">{left > 0 ? list.loadingMore(left) : list.rows(table.rows.shown.length, size)}</span>
      )}
      <Liveness state={state} />
    </span>
  );
}
