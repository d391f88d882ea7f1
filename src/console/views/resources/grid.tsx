/** The visible rows of up to 50,000, with the keys of k9s and of an ARIA grid. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Kind } from '../../api/kinds.ts';
import type { Row } from '../../api/table.ts';
import { isRead } from '../../api/table-list.ts';
import { bindKeys } from '../../app/keyboard.ts';
import { shownAt } from '../../app/hrefs.ts';
import { navigate, setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { rowWindow, scrollTo } from '../../parts/virtual-window.ts';
import { actionsFor } from '../../parts/list-actions.ts';
import { type ShownColumn, widthOf } from './columns.ts';
import { GridHead } from './grid-head.tsx';
import { GridRow } from './grid-row.tsx';
import type { LiveTable } from '../../parts/live-table.ts';
import { Refusal } from './refusal.tsx';
import { ROW_HEIGHT, type RowLayout } from './row-layout.ts';
import type { Sort } from './sorting.ts';

/** The padding of a cell, in characters. */
const CELL_PADDING_CH = 3;
/** Widths are computed from this many rows; more would delay a long list. */
const MEASURED_ROWS = 200;

interface GridProps {
  readonly table: LiveTable;
  readonly kind: Kind;
  readonly columns: readonly ShownColumn[];
  readonly sort: Sort;
  readonly filtered: boolean;
  readonly focusFilter: () => void;
}

export function Grid({ table, kind, columns, sort, filtered, focusFilter }: GridProps) {
  const version = table.version.value;
  const { shown } = table.rows;
  const body = useRef<HTMLDivElement>(null);
  const viewport = useSignal({ scrollTop: 0, height: 800 });
  const selected = useSignal('');
  useEffect(() => measured(body.current!, (now) => (viewport.value = now)), []);
  const layout = useLayout(
    columns,
    shown,
    version === 0 ? 0 : table.columns.value.length + Math.min(shown.length, MEASURED_ROWS),
  );
  const move = (to: (at: number) => number): void => {
    const row = table.rows.find(selected.peek());
    const at = row === undefined ? -1 : table.rows.indexOf(row);
    const next = Math.max(0, Math.min(to(at), table.rows.shown.length - 1));
    selected.value = table.rows.shown[next]?.uid ?? '';
    body.current!.scrollTop = scrollTo(next, viewport.peek(), ROW_HEIGHT);
  };
  const refOf = (row: Row) => ({ kind, namespace: row.namespace, name: row.name });
  const onSelected = (work: (row: Row) => void) => () => {
    const row = table.rows.find(selected.peek());
    if (row !== undefined) work(row);
  };
  const open = (row: Row): void => {
    const place = shownAt(refOf(row));
    if (place !== undefined) navigate(place);
  };
  const page = (): number => Math.max(1, Math.floor(viewport.peek().height / ROW_HEIGHT) - 1);
  const { keys } = texts;
  const actions = actionsFor(kind);
  useEffect(
    () =>
      bindKeys([
        ...['j', 'ArrowDown'].map((key) => ({ key, label: keys.down, run: () => move((at) => at + 1) })),
        ...['k', 'ArrowUp'].map((key) => ({ key, label: keys.up, run: () => move((at) => at - 1) })),
        { key: 'PageDown', label: keys.pageDown, run: () => move((at) => at + page()) },
        { key: 'PageUp', label: keys.pageUp, run: () => move((at) => at - page()) },
        ...['g', 'Home'].map((key) => ({ key, label: keys.first, run: () => move(() => 0) })),
        ...['G', 'End'].map((key) => ({ key, label: keys.last, run: () => move(() => Infinity) })),
        { key: '/', label: keys.filter, run: focusFilter },
        { key: 'Escape', label: keys.clear, run: () => setParams({ q: '' }) },
        ...(shownAt({ kind, namespace: '', name: '' }) === undefined
          ? []
          : [{ key: 'Enter', label: keys.open, run: onSelected(open) }]),
        ...actions.map(({ key, label, href }) => ({
          key,
          label,
          run: onSelected((row) => navigate(href(refOf(row)))),
        })),
      ]),
    [kind, actions.map(({ key }) => key).join(' ')],
  );
  const state = table.state.value;
  if (state.kind === 'refused') return <Refusal error={state.error} />;
  const { first, end } = rowWindow(viewport.value, ROW_HEIGHT, shown.length);
  return (
    <div
      class="grid"
      role="grid"
      aria-label={kind.kind}
      aria-rowcount={shown.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={selected.value === '' ? undefined : `row-${selected.value}`}
      tabIndex={0}
      ref={body}
      onScroll={({ currentTarget: { scrollTop, clientHeight } }) =>
        (viewport.value = { scrollTop, height: clientHeight - ROW_HEIGHT })
      }
    >
      <GridHead columns={columns} sort={sort} layout={layout} />
      <div class="rows" role="rowgroup" style={{ height: `${shown.length * ROW_HEIGHT}px`, width: layout.width }}>
        {shown.slice(first, end).map((row, index) => (
          <GridRow
            key={row.uid}
            row={row}
            index={first + index}
            columns={columns}
            layout={layout}
            selected={row.uid === selected.value}
            href={shownAt(refOf(row))}
            onSelect={() => (selected.value = row.uid)}
          />
        ))}
      </div>
      {shown.length === 0 && isRead(state) ? (
        <p class="notice">{filtered ? texts.list.noneMatch : texts.list.none}</p>
      ) : null}
    </div>
  );
}

/** Calls `changed` when the scroll position or the size changes. */
function measured(element: HTMLElement, changed: (now: { scrollTop: number; height: number }) => void): () => void {
  const update = (): void => changed({ scrollTop: element.scrollTop, height: element.clientHeight - ROW_HEIGHT });
  const observer = new ResizeObserver(update);
  observer.observe(element);
  update();
  return () => observer.disconnect();
}

/** Column widths by the content of the first rows, the same for all rows. A new `basis` computes them again. */
function useLayout(columns: readonly ShownColumn[], rows: readonly Row[], basis: number): RowLayout {
  return useMemo(() => {
    const sample = rows.slice(0, MEASURED_ROWS);
    const widths = columns.map((column) => widthOf(column, sample) + CELL_PADDING_CH);
    const total = widths.reduce((sum, width) => sum + width, 0);
    return {
      gridTemplateColumns: widths.map((width) => `minmax(0, ${width}fr)`).join(' '),
      width: `max(100%, ${total}ch)`,
    };
  }, [columns.map(({ id }) => id).join(), basis]);
}
