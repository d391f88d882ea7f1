/** The menu that shows and hides columns. */
import { Icon } from '../../parts/icon.tsx';
import { texts } from '../../app/texts.ts';
import { toggleColumn } from './column-choice.ts';
import type { ShownColumn } from './columns.ts';

interface ColumnMenuProps {
  readonly id: string;
  readonly columns: readonly ShownColumn[];
  readonly hidden: ReadonlySet<string>;
}

export function ColumnMenu({ id: kind, columns, hidden }: ColumnMenuProps) {
  return (
    <details class="pop">
      <summary aria-label={texts.list.columns} title={texts.list.columns}>
        <Icon name="columns" />
      </summary>
      <fieldset>
        <legend>{texts.list.columns}</legend>
        {columns
          .filter(({ role }) => role !== 'name')
          .map(({ id, title }) => (
            <label key={id}>
              <input type="checkbox" checked={!hidden.has(id)} onChange={() => toggleColumn(kind, id)} /> {title}
            </label>
          ))}
      </fieldset>
    </details>
  );
}
