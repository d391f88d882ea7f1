/** A live list within an object's page, with the columns that the server shows by default. */
import type { Kind } from '../../api/kinds.ts';
import type { Cell, Row } from '../../api/table.ts';
import { texts } from '../../app/texts.ts';
import { Badge } from '../../parts/badge.tsx';
import { toneOf, toneOfShare } from '../../parts/tone.ts';
import { ObjectLink } from './links.tsx';
import type { ShownRows } from './use-rows.ts';

interface SmallTableProps {
  readonly live: ShownRows;
  readonly kind: Kind;
  readonly label: string;
  /** Names of columns that are hidden here. */
  readonly without?: readonly string[];
}

export function SmallTable({ live: { columns, rows, count }, kind, label, without = [] }: SmallTableProps) {
  const shown = columns
    .map((column, index) => ({ ...column, index }))
    .filter(({ wide, name }) => !wide && !without.includes(name));
  return (
    <div class="object-scroll" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {shown.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.uid}>
              {shown.map(({ name, index }) => (
                <td key={name}>
                  {name === 'Name' ? <RowLink row={row} kind={kind} /> : cell(row.cells[index] ?? null)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {count > rows.length ? <p class="dim">{texts.object.more(count - rows.length)}</p> : null}
    </div>
  );
}

function RowLink({ row: { namespace, name }, kind }: { readonly row: Row; readonly kind: Kind }) {
  return <ObjectLink short to={{ kind, namespace, name }} />;
}

function cell(value: Cell) {
  const text = value === null ? '' : String(value);
  return <Badge word={text} tone={text.includes('/') ? toneOfShare(text) : toneOf(text)} />;
}
