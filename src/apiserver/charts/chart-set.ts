/** Turns rings into charts: of one object, of the largest of a list, of this server's requests. */
import type { Chart, ChartName, ChartSeries, ChartSet } from '../../api/charts.ts';
import type { Collector } from './collector.ts';
import { CPU, MEMORY, RECEIVED, RESTARTS, SENT, type Subject } from './measures.ts';
import { REQUEST_MEASURES } from './request-rates.ts';
import type { Rings } from './rings.ts';
import { PERIOD_MS } from './timeline.ts';

type RequestMeasure = (typeof REQUEST_MEASURES)[number];

/** How many objects of a list have lines of their own. */
const LARGEST = 3;
/** Digits of a number in the answer: a pixel of a chart is coarser. */
const DIGITS = 4;

/** Lines of usage: what each chart is of. `restarts` is left out where the caller may not know of pods. */
const USAGE: readonly {
  readonly name: ChartName;
  readonly unit: Chart['unit'];
  readonly measures: readonly number[];
}[] = [
  { name: 'cpu', unit: 'cores', measures: [CPU] },
  { name: 'memory', unit: 'bytes', measures: [MEMORY] },
  { name: 'network', unit: 'bytesPerSecond', measures: [RECEIVED, SENT] },
  { name: 'restarts', unit: 'count', measures: [RESTARTS] },
];

const REQUESTS: readonly {
  readonly name: ChartName;
  readonly unit: Chart['unit'];
  readonly measures: readonly RequestMeasure[];
}[] = [
  { name: 'requests', unit: 'perSecond', measures: ['reads', 'writes', 'watches'] },
  { name: 'latency', unit: 'seconds', measures: ['readMedian', 'read99', 'writeMedian', 'write99'] },
  { name: 'failures', unit: 'perSecond', measures: ['clientErrors', 'serverErrors'] },
  { name: 'load', unit: 'count', measures: ['readsInFlight', 'writesInFlight', 'openWatches'] },
];

const SERIES_OF = {
  [CPU]: 'used',
  [MEMORY]: 'used',
  [RECEIVED]: 'received',
  [SENT]: 'sent',
  [RESTARTS]: 'restarts',
} as const;

export interface UsageOptions {
  readonly restarts: boolean;
  /** Limits of the object, by chart. */
  readonly limits?: Partial<Record<ChartName, number>>;
}

/** The charts of a node, a pod or a workload: one line for each measure. */
export function objectCharts(
  collector: Collector,
  { rings, key }: { readonly rings: Rings<Subject>; readonly key: string },
  { restarts, limits = {} }: UsageOptions,
): ChartSet {
  const slots = collector.timeline.kept();
  const charts = usageCharts(restarts).map(({ name, unit, measures }): Chart => {
    const series = measures.map((measure) => ({
      name: SERIES_OF[measure as keyof typeof SERIES_OF],
      values: withoutNaN(rings.read(key, measure, slots) ?? slots.map(() => Number.NaN)),
    }));
    return { name, unit, series, limit: limits[name] };
  });
  return chartSet(collector, slots, charts);
}

export interface ListOptions {
  readonly restarts: boolean;
  /** `firstMs`: since when the subject is known, or the beginning of the hour. */
  readonly includes: (subject: Subject, firstMs: number) => boolean;
  readonly pause: () => Promise<void> | undefined;
}

/** The charts of a list: its sum, where all of it is known, and its largest objects. */
export async function listCharts(
  collector: Collector,
  rings: Rings<Subject>,
  { restarts, includes, pause }: ListOptions,
): Promise<ChartSet> {
  const { timeline, complete } = collector;
  const slots = timeline.kept();
  const members = [...rings.subjects()].filter(({ subject, first }) =>
    includes(subject, timeline.timeMs(Math.max(first, slots[0] ?? 0))),
  );
  const charts: Chart[] = [];
  for (const { name, unit, measures } of usageCharts(restarts)) {
    const sums = new Float64Array(slots.length).fill(Number.NaN);
    const sizes: { readonly key: string; readonly subject: Subject; readonly size: number }[] = [];
    for (const { key, subject } of members) {
      sizes.push({ key, subject, size: rings.addTo(sums, key, { measures, slots }) });
      const due = pause();
      if (due !== undefined) await due;
    }
    const largest = sizes
      .filter(({ size }) => size > 0)
      .sort((a, b) => b.size - a.size)
      .slice(0, LARGEST)
      .map(({ key, subject: { namespace, name: own } }): ChartSeries => {
        const values = new Float64Array(slots.length).fill(Number.NaN);
        rings.addTo(values, key, { measures, slots });
        return { object: { namespace, name: own }, values: withoutNaN(values) };
      });
    const total: ChartSeries[] = complete ? [{ name: 'total', values: withoutNaN(sums) }] : [];
    charts.push({ name, unit, series: [...total, ...largest] });
  }
  return chartSet(collector, slots, charts);
}

/** The charts of the requests that this server answers. */
export function requestCharts(collector: Collector): ChartSet {
  const slots = collector.timeline.kept();
  const charts = REQUESTS.map(({ name, unit, measures }): Chart => {
    const series = measures.map((measure) => ({
      name: measure,
      values: withoutNaN(collector.requests.read('', REQUEST_MEASURES.indexOf(measure), slots) ?? []),
    }));
    return { name, unit, series };
  });
  return { ...chartSet(collector, slots, charts), complete: true };
}

function usageCharts(restarts: boolean): typeof USAGE {
  return USAGE.filter(({ name }) => restarts || name !== 'restarts');
}

function withoutNaN(values: Iterable<number>): (number | null)[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : Number(value.toPrecision(DIGITS))));
}

function chartSet(
  { timeline, sinceMs, complete }: Collector,
  slots: readonly number[],
  charts: readonly Chart[],
): ChartSet {
  return {
    apiVersion: 'keelson/v1',
    kind: 'ChartSet',
    since: Math.round(sinceMs / 1000),
    periodSeconds: PERIOD_MS / 1000,
    times: slots.map((slot) => Math.round(timeline.timeMs(slot) / 1000)),
    charts,
    complete,
  };
}
