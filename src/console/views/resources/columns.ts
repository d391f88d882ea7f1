/** The columns of a list: the server's, with the namespace before them and the labels after them. */
import type { Cell, Column, Row } from '../../api/table.ts';
import { toneOf, toneOfShare } from '../../parts/tone.ts';

export interface ShownColumn {
  /** Unique in its list; stored in addresses and settings. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** Shown unless the user has chosen otherwise. */
  readonly byDefault: boolean;
  readonly role: 'name' | 'namespace' | 'age' | 'labels' | 'cell';
  /** The row's cell; in the labels column their text. */
  cell(row: Row): Cell;
}

/** `several`: rows of more than one namespace are listed. */
export function shownColumns(columns: readonly Column[], several: boolean): readonly ShownColumn[] {
  const namespace: ShownColumn = {
    id: 'namespace',
    title: 'Namespace',
    description: '',
    byDefault: several,
    role: 'namespace',
    cell: (row) => row.namespace,
  };
  const own = columns.map(({ name, description, wide }, index): ShownColumn => ({
    id: name.toLowerCase().replaceAll(/\W+/g, '-'),
    title: name,
    description,
    byDefault: !wide,
    role: index === 0 ? 'name' : roleOf(name),
    cell: ({ cells }) => cells[index] ?? null,
  }));
  const labels: ShownColumn = {
    id: 'labels',
    title: 'Labels',
    description: '',
    byDefault: false,
    role: 'labels',
    cell: (row) => labelsText(row),
  };
  return [...(several ? [namespace] : []), ...own, labels];
}

function roleOf(name: string): ShownColumn['role'] {
  return name === 'Age' ? 'age' : 'cell';
}

function labelsText({ labels }: Row): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** The width of a badge's shape and padding, in characters. */
const BADGE_CH = 4;

/** The width of a column in characters, for these rows. */
export function widthOf(column: ShownColumn, rows: readonly Row[]): number {
  const most = column.role === 'name' ? 52 : 36;
  let width = column.title.length + 2;
  for (const row of rows) {
    const text = String(column.cell(row) ?? '');
    const isBadge = column.role === 'cell' && (toneOf(text) !== 'plain' || toneOfShare(text) !== 'plain');
    width = Math.max(width, text.length + (isBadge ? BADGE_CH : 0));
  }
  return column.role === 'age' ? 7 : Math.min(width, most);
}
