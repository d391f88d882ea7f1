/** One chart: its lines, their values at the cursor or now, and a table of all values. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Chart, ChartSeries } from '../../../api/charts.ts';
import { texts } from '../../app/texts.ts';
import { theme } from '../../app/theme.ts';
import { amountText, exactTimeText } from './amount-text.ts';
import { colourOf, isEmpty, seriesText, valueText } from './chart-lines.ts';
import { Numbers } from './numbers.tsx';
import { openPlot, type Plot, shownLimit } from './plot.ts';
import { useSystemDark } from './use-system-dark.ts';

interface ChartPanelProps {
  readonly chart: Chart;
  readonly times: readonly number[];
  /** Whether the objects have different namespaces. */
  readonly showsNamespaces: boolean;
  /** The address of an object's own charts. */
  readonly hrefOf?: (object: NonNullable<ChartSeries['object']>) => string;
}

export function ChartPanel({ chart, times, showsNamespaces, hrefOf }: ChartPanelProps) {
  const { unit, series, limit } = chart;
  const words = texts.charts;
  const title = words.charts[chart.name];
  const [point, setPoint] = useState<number>();
  const index = point === undefined || point >= times.length ? undefined : point;
  const first = series.length === 1 && !isEmpty(chart) ? valueText(unit, series[0]!, index) : '';
  return (
    <section class="chart" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class="mono">
          {limit === undefined || first === '' ? first : words.of(first, amountText(unit, limit))}
        </span>
        <span class="chart-time mono dim">{index === undefined ? '' : exactTimeText(times[index]!)}</span>
      </header>
      {isEmpty(chart) || (series.length === 1 && series[0]!.object === undefined) ? null : (
        <ul class="chart-legend">
          {series.map((line, at) => (
            <li key={seriesText(line, true)}>
              <Mark colour={colourOf(series, at)} line={at} />
              {line.object === undefined || hrefOf === undefined ? (
                seriesText(line, showsNamespaces)
              ) : (
                <a href={hrefOf(line.object)}>{seriesText(line, showsNamespaces)}</a>
              )}
              <span class="mono">{valueText(unit, line, index)}</span>
            </li>
          ))}
        </ul>
      )}
      {isEmpty(chart) ? (
        <p class="dim">{times.length < 2 ? words.soon : words.nothing}</p>
      ) : (
        <>
          <Lines {...{ chart, times, index, onPoint: setPoint, showsNamespaces }} />
          <Numbers {...{ chart, times, showsNamespaces }} />
        </>
      )}
    </section>
  );
}

function Mark({ colour, line }: { readonly colour: number; readonly line: number }) {
  return (
    <svg class={`chart-mark colour-${colour} dash-${line}`} viewBox="0 0 24 8" aria-hidden="true">
      <line x1="0" x2="24" y1="4" y2="4" />
    </svg>
  );
}

interface LinesProps extends Pick<ChartPanelProps, 'chart' | 'times' | 'showsNamespaces'> {
  readonly index: number | undefined;
  readonly onPoint: (index: number | undefined) => void;
}

function Lines({ chart, times, index, onPoint, showsNamespaces }: LinesProps) {
  const { unit, series, limit, name } = chart;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(undefined);
  const isDark = useSystemDark();
  const lines = series.map(({ values }) => values);
  const data = { times, lines, limit: shownLimit(limit, lines) };
  const shape = series.map((_, at) => colourOf(series, at)).join();
  useEffect(() => {
    const colours = series.map((_, at) => colourOf(series, at));
    plot.current = openPlot(host.current!, data, {
      unit,
      colours,
      bars: name === 'restarts' && series.length === 1,
      onPoint,
    });
    return () => plot.current?.dispose();
  }, [shape, unit, theme.value, isDark]);
  useEffect(() => plot.current?.update(data), [times, series]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = indexAfter(event.key, index ?? times.length - 1, times.length);
    if (next === undefined) return;
    event.preventDefault();
    plot.current?.point(next < 0 ? undefined : next);
  };
  const at = index ?? times.length - 1;
  const lineTexts = series
    .map((line) => `${seriesText(line, showsNamespaces)} ${valueText(unit, line, at)}`)
    .join(', ');
  return (
    <div
      ref={host}
      class="chart-plot"
      tabIndex={0}
      role="slider"
      aria-label={texts.charts.plot(texts.charts.charts[name])}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, times.length - 1)}
      aria-valuenow={at}
      aria-valuetext={texts.charts.at(exactTimeText(times[at] ?? 0), lineTexts)}
      onKeyDown={onKeyDown}
      onBlur={() => plot.current?.point(undefined)}
    />
  );
}

/** The sample to which a key moves the cursor, -1 for none. Undefined when the key does nothing. */
function indexAfter(key: string, index: number, count: number): number | undefined {
  const clamp = (value: number): number => Math.max(0, Math.min(value, count - 1));
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return clamp(index - 1);
    case 'ArrowRight':
    case 'ArrowUp':
      return clamp(index + 1);
    case 'PageDown':
      return clamp(index - 10);
    case 'PageUp':
      return clamp(index + 10);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    case 'Escape':
      return -1;
    default:
      return undefined;
  }
}
