/** One row. It is drawn again when its object, its position or its selection changes. */
import { Component } from 'preact';
import type { Cell, Row } from '../../api/table.ts';
import { texts } from '../../app/texts.ts';
import { Age } from '../../parts/age.tsx';
import { Badge } from '../../parts/badge.tsx';
import { toneOf, toneOfShare } from '../../parts/tone.ts';
import type { ShownColumn } from './columns.ts';
import { ROW_HEIGHT, type RowLayout } from './row-layout.ts';

interface GridRowProps {
  readonly row: Row;
  readonly index: number;
  readonly columns: readonly ShownColumn[];
  readonly layout: RowLayout;
  readonly selected: boolean;
  readonly href: string | undefined;
  readonly onSelect: () => void;
}

export class GridRow extends Component<GridRowProps> {
  override shouldComponentUpdate(next: GridRowProps): boolean {
    const { row, index, layout, selected } = this.props;
    return row !== next.row || index !== next.index || selected !== next.selected || layout !== next.layout;
  }

  render() {
    const { row, index, columns, layout, selected, href, onSelect } = this.props;
    return (
      <div
        id={`row-${row.uid}`}
        class={row.deleting ? 'row deleting' : 'row'}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={selected}
        style={{ ...layout, transform: `translateY(${index * ROW_HEIGHT}px)` }}
        onMouseDown={onSelect}
      >
        {columns.map((column) => (
          <div key={column.id} role={column.role === 'name' ? 'rowheader' : 'gridcell'} class={column.role}>
            <CellContent column={column} row={row} href={href} />
          </div>
        ))}
      </div>
    );
  }
}

interface CellProps {
  readonly column: ShownColumn;
  readonly row: Row;
  readonly href: string | undefined;
}

function CellContent({ column, row, href }: CellProps) {
  const cell = column.cell(row);
  if (column.role === 'age' && row.createdMs !== 0) return <Age sinceMs={row.createdMs} />;
  const text = textOf(cell);
  if (column.role === 'name' && href !== undefined)
    return (
      <a href={href} tabIndex={-1} title={row.deleting ? texts.list.deleting : text}>
        {text}
      </a>
    );
  if (typeof cell === 'string' && column.role === 'cell') {
    const tone = cell.includes('/') && !isDone(row) ? toneOfShare(cell) : toneOf(cell);
    if (tone !== 'plain') return <Badge word={cell} tone={tone} />;
  }
  return <span title={text}>{text}</span>;
}

/** A pod that has ended needs no ready containers. */
function isDone({ cells }: Row): boolean {
  return cells.some((cell) => typeof cell === 'string' && toneOf(cell) === 'done');
}

function textOf(cell: Cell): string {
  return cell === null ? '' : String(cell);
}
