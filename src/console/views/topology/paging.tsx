/** A button that shows more of many rows. */
import { useSignal } from '@preact/signals';
import type { Row } from '../../api/table.ts';
import { texts } from '../../app/texts.ts';
import { type Filter, matches } from '../../parts/filter.ts';
import type { LiveTable } from '../../parts/live-table.ts';

const PAGE = 12;

export interface Page {
  readonly rows: readonly Row[];
  /** The number of further matches. */
  readonly left: number;
  showMore(): void;
}

export function usePage(table: LiveTable, filter: Filter): Page {
  const shown = useSignal(PAGE);
  void table.version.value; // the rows change with it
  const matching = table.rows.shown.filter((row) => matches(filter, row));
  return {
    rows: matching.slice(0, shown.value),
    left: Math.max(0, matching.length - shown.value),
    showMore: () => (shown.value += PAGE),
  };
}

export function MoreButton({ page: { left, showMore } }: { readonly page: Page }) {
  if (left === 0) return null;
  return (
    <button type="button" class="topology-more" onClick={showMore}>
      {texts.topology.showMore(left)}
    </button>
  );
}
