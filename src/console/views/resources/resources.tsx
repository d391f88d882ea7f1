/** The live list of the kind in the address. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { chooseNamespace, kindNamed, kinds } from '../../app/cluster-state.ts';
import { momentMs } from '../../app/moment.ts';
import { namespace, setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { pluralOf } from '../../app/menu-bar.tsx';
import { type Kind, kindId } from '../../api/kinds.ts';
import type { ViewProps } from '../contract.ts';
import { hiddenColumns } from './column-choice.ts';
import { ColumnMenu } from './column-menu.tsx';
import { shownColumns } from './columns.ts';
import { matches, parseFilter } from '../../parts/filter.ts';
import { LiveTable } from '../../parts/live-table.ts';
import { ListStatus } from './list-status.tsx';
import { comparing, parseSort } from './sorting.ts';
import { Grid } from './grid.tsx';

export function View({ route }: ViewProps) {
  const [word = ''] = route.path;
  const kind = kindNamed(word);
  if (kinds.value.length === 0) return <p class="notice">{texts.shell.loading}</p>;
  if (kind === undefined) return <p class="notice">{texts.list.unknownKind(word)}</p>;
  return <List key={kindId(kind)} kind={kind} params={route.params} />;
}

function List({ kind, params }: { readonly kind: Kind; readonly params: URLSearchParams }) {
  const table = useMemo(() => new LiveTable(), []);
  const filterText = params.get('q') ?? '';
  const filter = useMemo(() => parseFilter(filterText), [filterText]);
  const where = kind.namespaced ? namespace.value : '';
  const { labelSelector, fieldSelector } = filter;
  const atMs = momentMs.value;
  useEffect(
    () => table.follow({ kind, namespace: where, labelSelector, fieldSelector, atMs }),
    [kind, where, labelSelector, fieldSelector, atMs],
  );
  useEffect(() => () => table.stop(), []);
  useEffect(() => chooseNamespace(kind), [kind]);
  const all = useMemo(
    () => shownColumns(table.columns.value, kind.namespaced && where === ''),
    [table.columns.value, where],
  );
  const sort = params.get('sort') ?? (kind.kind === 'Event' ? 'last-seen' : '');
  useMemo(() => {
    const { column: id, descending } = parseSort(sort);
    const column = all.find((one) => one.id === id);
    table.setOrder({
      shows: (row) => matches(filter, row),
      compare: column === undefined ? () => 0 : comparing(column, descending),
    });
  }, [filter, sort, all]);
  const hidden = hiddenColumns(kindId(kind), all);
  const field = useSignal<HTMLInputElement | null>(null);
  return (
    <section class="list">
      <header class="bar">
        <h1>{pluralOf(kind)}</h1>
        <input
          ref={(element) => void (field.value = element)}
          class="filter mono"
          type="search"
          aria-label={texts.list.filterLabel}
          placeholder={texts.list.filter}
          spellcheck={false}
          value={filterText}
          onInput={({ currentTarget }) => setParams({ q: currentTarget.value })}
          onKeyDown={leaveField}
        />
        <ListStatus table={table} />
        <ColumnMenu id={kindId(kind)} columns={all} hidden={hidden.value} />
      </header>
      <Grid
        table={table}
        kind={kind}
        columns={all.filter(({ id }) => !hidden.value.has(id))}
        sort={parseSort(sort)}
        filtered={filterText !== ''}
        focusFilter={() => field.value?.select()}
      />
    </section>
  );
}

/** Escape clears the field; Enter and a second Escape leave it. */
function leaveField(event: KeyboardEvent): void {
  const { key, currentTarget } = event;
  const field = currentTarget as HTMLInputElement;
  if (key === 'Escape' && field.value !== '') setParams({ q: '' });
  else if (key === 'Escape' || key === 'Enter' || key === 'ArrowDown')
    document.querySelector<HTMLElement>('.grid')?.focus();
  else return;
  event.preventDefault();
}
