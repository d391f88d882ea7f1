/** The visible lines of the logs. The pane follows the newest line until the user scrolls up, and then keeps its position. */
import { type Signal, useSignal } from '@preact/signals';
import { type RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { texts } from '../../app/texts.ts';
import { rowWindow } from '../../parts/virtual-window.ts';
import type { LogBuffer } from './log-buffer.ts';
import { LogRow, ROW_HEIGHT, type RowStyle } from './log-row.tsx';
import type { LogStore } from './log-store.ts';
import { type LogSettings, prefixOf } from './look.ts';
import { type RowTable, type ShownLines, singleRows, wrappedRows } from './rows.ts';
import { firstAtLeast } from './search.ts';
import { rowStarts } from './wrapping.ts';

/** The reader's position. */
export interface Reading {
  /** Whether the pane follows the newest line. */
  readonly follow: boolean;
  /** The number of the top line, and how many of its pixels are above the edge. */
  readonly number: number;
  readonly offset: number;
}

interface LogPaneProps {
  readonly store: LogStore;
  readonly settings: LogSettings;
  readonly reading: Signal<Reading>;
  /** The number of the line with the selected match; -1 for none. */
  readonly current: number;
}

interface PaneSize {
  readonly width: number;
  readonly height: number;
  readonly character: number;
}

/** The minimum number of columns, which limits the number of rows of a log. */
const LEAST_COLUMNS = 20;
/** The padding of pane and rows, in pixels. */
const PADDING = 32;

export function LogPane({ store, settings, reading, current }: LogPaneProps) {
  const pane = useRef<HTMLDivElement>(null);
  const size = usePaneSize(pane);
  const expected = useRef(0);
  const { wrap, times, query, only } = settings;
  const columns = Math.max(LEAST_COLUMNS, Math.floor((size.width - PADDING) / size.character));
  const sources = store.sources.value;
  const prefix = useMemo(() => prefixOf(sources, { times, columns }), [sources, times, columns]);
  const rowStyle = useMemo((): RowStyle => ({ query, prefix: prefix.of }), [query, prefix]);
  void store.version.value;
  const lines = only ? matchingLines(store) : allLines(store.buffer);
  const wrapping = { columns, indent: Math.min(prefix.width, columns) };
  const table = wrap ? wrappedRows(lines, wrapping) : singleRows(lines);
  const top = topOf(reading.value, { lines, table, height: size.height });
  const shown = rowWindow({ scrollTop: top, height: size.height }, ROW_HEIGHT, table.rows);
  useEffect(() => pane.current?.focus(), []);
  useLayoutEffect(() => {
    if (pane.current === null) return;
    if (Math.abs(pane.current.scrollTop - top) >= 1) pane.current.scrollTop = top;
    expected.current = pane.current.scrollTop;
  });
  const scrolled = (): void => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = pane.current ?? {};
    if (Math.abs(scrollTop - expected.current) < 1) return;
    const atEnd = scrollTop + clientHeight >= scrollHeight - 2;
    const index = table.lineAt(Math.floor(scrollTop / ROW_HEIGHT));
    const number = lines.length === 0 ? 0 : lines.numberOf(Math.min(index, lines.length - 1));
    reading.value = { follow: atEnd, number, offset: scrollTop - table.rowOf(index) * ROW_HEIGHT };
  };
  return (
    <div class="logs-pane mono" ref={pane} role="region" aria-label={texts.logs.lines} tabIndex={0} onScroll={scrolled}>
      <div
        class={sources.length > 1 ? 'logs-rows logs-many' : 'logs-rows'}
        data-wrap={wrap}
        style={{ height: `${table.rows * ROW_HEIGHT}px`, minWidth: wrap ? 'auto' : `${widest(lines, shown)}ch` }}
      >
        {rowsIn(shown, { lines, table, wrapping: wrap ? wrapping : undefined }).map(({ row, index, from, to }) => (
          <LogRow
            key={`${lines.numberOf(index)}.${from}`}
            row={row}
            line={lines.at(index)}
            from={from}
            to={to}
            rowStyle={rowStyle}
            current={lines.numberOf(index) === current}
          />
        ))}
      </div>
    </div>
  );
}

function allLines(buffer: LogBuffer): ShownLines {
  const { dropped, length } = buffer;
  return {
    length,
    at: (index) => buffer.at(index),
    numberOf: (index) => dropped + index,
    indexFrom: (number) => Math.max(0, number - dropped),
  };
}

function matchingLines({ buffer, search: { matches } }: LogStore): ShownLines {
  return {
    length: matches.length,
    at: (index) => buffer.at(matches[index]! - buffer.dropped),
    numberOf: (index) => matches[index]!,
    indexFrom: (number) => firstAtLeast(matches, number),
  };
}

interface Lined {
  readonly lines: ShownLines;
  readonly table: RowTable;
}

/** The scroll position in pixels. */
function topOf(
  { follow, number, offset }: Reading,
  { lines, table, height }: Lined & { readonly height: number },
): number {
  const last = Math.max(0, table.rows * ROW_HEIGHT - height);
  if (follow) return last;
  return Math.max(0, Math.min(last, table.rowOf(lines.indexFrom(number)) * ROW_HEIGHT + offset));
}

interface ShownRow {
  readonly row: number;
  readonly index: number;
  readonly from: number;
  readonly to: number;
}

/** The rows to draw, each with its part of a line. */
function rowsIn(
  { first, end }: { readonly first: number; readonly end: number },
  {
    lines,
    table,
    wrapping,
  }: Lined & { readonly wrapping: { readonly columns: number; readonly indent: number } | undefined },
): readonly ShownRow[] {
  const rows: ShownRow[] = [];
  let row = first;
  while (row < end) {
    const index = table.lineAt(row);
    const { text } = lines.at(index);
    const begin = table.rowOf(index);
    const starts = wrapping === undefined ? [0] : rowStarts(text, wrapping.columns, wrapping.indent);
    for (let part = row - begin; part < starts.length && row < end; part++)
      rows.push({ row: row++, index, from: starts[part]!, to: starts[part + 1] ?? text.length });
    row = Math.max(row, begin + starts.length);
  }
  return rows;
}

/** The length of the longest visible line in characters. */
function widest(lines: ShownLines, { first, end }: { readonly first: number; readonly end: number }): number {
  let most = 0;
  for (let index = first; index < end; index++) most = Math.max(most, lines.at(index).text.length);
  return most + 2;
}

function usePaneSize(pane: RefObject<HTMLDivElement | null>): PaneSize {
  const size = useSignal<PaneSize>({ width: 600, height: 400, character: 7.5 });
  useLayoutEffect(() => {
    const element = pane.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = element;
      size.value = { width, height, character: characterWidth(element) };
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  return size.value;
}

/** The width of a character in the pane's monospaced font. */
function characterWidth(element: HTMLElement): number {
  const sample = document.createElement('span');
  sample.className = 'logs-sample';
  sample.textContent = '0'.repeat(100);
  element.append(sample);
  const { width } = sample.getBoundingClientRect();
  sample.remove();
  return width === 0 ? 7.5 : width / 100;
}
