/** uPlot in an element of the page: an hour of lines in the theme's colours, in the size of the element. */
import uPlot from 'uplot';
import rules from 'uplot/dist/uPlot.min.css';
import type { Chart } from '../../../api/charts.ts';
import { adoptStyles } from '../../parts/adopt-styles.ts';
import { amountText, marksOf, timeText } from './amount-text.ts';

export interface Plot {
  /** Draws new values of the same lines. */
  update(data: PlotData): void;
  /** Moves the cursor to a sample; undefined hides it. */
  point(index: number | undefined): void;
  dispose(): void;
}

export interface PlotData {
  /** In seconds since 1970. */
  readonly times: readonly number[];
  readonly lines: readonly (readonly (number | null)[])[];
  /** The value of a horizontal line; undefined when there is none, or when it is far above all values. */
  readonly limit: number | undefined;
}

export interface PlotStyle {
  readonly unit: Chart['unit'];
  /** The numbers of the lines' colours; 0 is the colour of text. */
  readonly colours: readonly number[];
  readonly bars: boolean;
  /** Called when the cursor moves to a sample, or leaves the chart. */
  onPoint(index: number | undefined): void;
}

const LEAST_RANGE_S = 600;
/** Lines differ by dashes in addition to colours. */
export const DASHES: readonly (readonly number[])[] = [[], [7, 3], [2, 3], [9, 3, 2, 3]];
/** A limit is drawn when the largest value is at least this fraction of it. */
const LIMIT_SHOWN_FROM = 0.3;

export function openPlot(host: HTMLElement, data: PlotData, style: PlotStyle): Plot {
  const release = adoptStyles(rules);
  let { limit } = data;
  const plot = new uPlot(
    optionsOf(host, style, () => limit),
    columnsOf(data),
    host,
  );
  const observer = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height: host.clientHeight }));
  observer.observe(host);
  return {
    update(next) {
      ({ limit } = next);
      plot.setData(columnsOf(next));
    },
    point(index) {
      if (index === undefined) plot.setCursor({ left: -10, top: -10 });
      else plot.setCursor({ left: plot.valToPos(plot.data[0][index]!, 'x'), top: 10 });
    },
    dispose() {
      observer.disconnect();
      plot.destroy();
      release();
    },
  };
}

/** The limit when it is drawn together with these values. */
export function shownLimit(limit: number | undefined, lines: PlotData['lines']): number | undefined {
  if (limit === undefined) return undefined;
  return lines.some((line) => line.some((value) => value !== null && value >= limit * LIMIT_SHOWN_FROM))
    ? limit
    : undefined;
}

function columnsOf({ times, lines }: PlotData): uPlot.AlignedData {
  return [[...times], ...lines.map((line) => [...line])];
}

function optionsOf(host: HTMLElement, style: PlotStyle, limit: () => number | undefined): uPlot.Options {
  const css = getComputedStyle(host);
  const colour = (name: string): string => css.getPropertyValue(name).trim();
  const { unit, colours, bars, onPoint } = style;
  const size = Number.parseFloat(css.fontSize);
  const axis = {
    stroke: colour('--dim'),
    font: `${size * 0.9}px ${colour('--font')}`,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
  };
  const marks = marksOf(unit);
  return {
    width: host.clientWidth,
    height: host.clientHeight,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, sync: { key: 'charts' }, y: false, points: { size: 7 } },
    scales: {
      x: { range: (u) => rangeOf(u.data[0]) },
      y: { range: (_u, _min, max) => [0, Math.max(leastTop(unit), Math.max(max ?? 0, limit() ?? 0) * 1.08)] },
    },
    axes: [
      { ...axis, size: size * 2.4, space: size * 6, values: (_u, splits) => splits.map(timeText) },
      {
        ...axis,
        size: size * 6,
        space: size * 3,
        ...(marks === undefined ? {} : { incrs: marks }),
        values: (_u, splits) => splits.map((value) => amountText(unit, value)),
      },
    ],
    series: [
      {},
      ...colours.map((number, index) => {
        const stroke = colour(number === 0 ? '--text' : `--series-${number}`);
        return {
          stroke,
          width: 2,
          dash: [...DASHES[index % DASHES.length]!],
          points: { show: false },
          ...(bars ? { paths: uPlot.paths.bars!({ size: [0.7, 12, 2] }), fill: `${stroke}66` } : {}),
        };
      }),
    ],
    hooks: {
      draw: [(u) => drawLimit(u, limit(), colour('--dim'))],
      setCursor: [({ cursor }) => onPoint(cursor.left! < 0 || cursor.idx === null ? undefined : cursor.idx)],
    },
  };
}

/** All recorded times, but at least ten minutes. */
function rangeOf(times: ArrayLike<number>): [number, number] {
  const newest = times.length === 0 ? LEAST_RANGE_S : times[times.length - 1]!;
  return [Math.min(times[0] ?? newest, newest - LEAST_RANGE_S), newest];
}

/** The minimum height of a scale, so that a line of zeros lies at the bottom. */
function leastTop(unit: Chart['unit']): number {
  return { cores: 0.01, bytes: 1024, bytesPerSecond: 64, perSecond: 0.1, seconds: 0.005, count: 2 }[unit];
}

function drawLimit(u: uPlot, limit: number | undefined, stroke: string): void {
  if (limit === undefined) return;
  const { ctx, bbox } = u;
  const y = Math.round(u.valToPos(limit, 'y', true));
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}
