/** The heads of the columns: a click sorts by the column, a second one in reverse, a third restores the default order. */
import { setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import type { ShownColumn } from './columns.ts';
import type { RowLayout } from './row-layout.ts';
import { type Sort, sortText } from './sorting.ts';

interface GridHeadProps {
  readonly columns: readonly ShownColumn[];
  readonly sort: Sort;
  readonly layout: RowLayout;
}

export function GridHead({ columns, sort, layout }: GridHeadProps) {
  return (
    <div class="head" role="row" aria-rowindex={1} style={{ ...layout }}>
      {columns.map((column) => (
        <Head key={column.id} column={column} sort={sort} />
      ))}
    </div>
  );
}

function Head({ column: { id, title, description }, sort }: { readonly column: ShownColumn; readonly sort: Sort }) {
  const isSorted = sort.column === id;
  const direction = sort.descending ? 'descending' : 'ascending';
  return (
    <div role="columnheader" aria-sort={isSorted ? direction : 'none'}>
      <button
        type="button"
        title={description || texts.list.sortBy(title)}
        onClick={() => setParams({ sort: nextSort(id, sort) })}
      >
        {title}
        <span class="arrow" aria-hidden="true">
          {isSorted ? (sort.descending ? '↓' : '↑') : ''}
        </span>
      </button>
    </div>
  );
}

function nextSort(id: string, { column, descending }: Sort): string {
  if (column !== id) return sortText({ column: id, descending: false });
  return descending ? '' : sortText({ column: id, descending: true });
}
