/** A metrics registry in memory, for tests to look at; the text format is the real one. */
import type { Metrics, MetricSpec } from '../metrics.ts';

type Labels = Readonly<Record<string, string>>;

/** A registry whose values can be read. */
export interface MemoryMetrics extends Metrics {
  /** Value of a counter or gauge, or the count of a histogram; undefined when never set. */
  value(name: string, labels?: Labels): number | undefined;
  /** Sum of a histogram's observations. */
  sum(name: string, labels?: Labels): number | undefined;
}

interface Series {
  readonly labels: Labels;
  value: number;
  sum: number;
  /** Of a histogram: observations by the first bound they do not exceed. */
  readonly bucketCounts: number[];
}

interface Metric {
  readonly spec: MetricSpec;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Made with the first value. */
  series: Map<string, Series> | undefined;
}

const NO_BUCKETS: number[] = [];
const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Makes an empty registry. */
export function createMemoryMetrics(): MemoryMetrics {
  const metrics = new Map<string, Metric>();
  const refreshes = new Set<() => void>();
  const register = (spec: MetricSpec, type: Metric['type']): Metric => {
    let metric = metrics.get(spec.name);
    if (metric === undefined) metrics.set(spec.name, (metric = { spec, type, series: undefined }));
    if (metric.type !== type) throw new Error(`metric ${spec.name} is a ${metric.type}, not a ${type}`);
    return metric;
  };
  const find = (name: string, labels: Labels = {}): Series | undefined => {
    const metric = metrics.get(name);
    return metric?.series?.get(keyOf(metric.spec, labels));
  };
  return {
    counter(spec) {
      const metric = register(spec, 'counter');
      return {
        inc: (labels = {}, by = 1) => void (seriesOf(metric, labels).value += by),
        remove: (labels) => void metric.series?.delete(keyOf(spec, labels)),
      };
    },
    gauge(spec) {
      const metric = register(spec, 'gauge');
      return {
        set: (value, labels = {}) => void (seriesOf(metric, labels).value = value),
        remove: (labels) => void metric.series?.delete(keyOf(spec, labels)),
      };
    },
    histogram(spec) {
      const metric = register(spec, 'histogram');
      return { observe: (value, labels = {}) => observe(metric, labels, value) };
    },
    beforeExpose(refresh) {
      refreshes.add(refresh);
      return () => void refreshes.delete(refresh);
    },
    expose() {
      for (const refresh of refreshes) refresh();
      return Promise.resolve([...metrics.values()].map(format).join('\n'));
    },
    value: (name, labels) => find(name, labels)?.value,
    sum: (name, labels) => find(name, labels)?.sum,
  };
}

/** Values in the order of the metric's labels. Throws for labels it does not have. */
function keyOf({ name, labels: names = [] }: MetricSpec, labels: Labels): string {
  for (const label in labels) if (!names.includes(label)) throw new Error(`metric ${name} has no label ${label}`);
  let key = '';
  for (const label of names) key += `${labels[label] ?? ''}\0`;
  return key;
}

function seriesOf(metric: Metric, labels: Labels): Series {
  const key = keyOf(metric.spec, labels);
  const all = (metric.series ??= new Map());
  let series = all.get(key);
  if (series === undefined) {
    const bucketCounts = metric.type === 'histogram' ? boundsOf(metric).map(() => 0) : NO_BUCKETS;
    all.set(key, (series = { labels, value: 0, sum: 0, bucketCounts }));
  }
  return series;
}

/** Ascending. */
function boundsOf({ spec }: Metric): readonly number[] {
  return spec.buckets ?? defaultBuckets;
}

function observe(metric: Metric, labels: Labels, value: number): void {
  const series = seriesOf(metric, labels);
  series.value++;
  series.sum += value;
  const bucket = boundsOf(metric).findIndex((bound) => value <= bound);
  if (bucket >= 0) series.bucketCounts[bucket]!++;
}

function format(metric: Metric): string {
  const { name, help } = metric.spec;
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${metric.type}`];
  for (const series of metric.series?.values() ?? []) {
    if (metric.type !== 'histogram') {
      lines.push(`${name}${formatLabels(series.labels)} ${series.value}`);
      continue;
    }
    let below = 0;
    for (const [index, bound] of boundsOf(metric).entries()) {
      below += series.bucketCounts[index]!;
      lines.push(`${name}_bucket${formatLabels({ ...series.labels, le: String(bound) })} ${below}`);
    }
    lines.push(`${name}_bucket${formatLabels({ ...series.labels, le: '+Inf' })} ${series.value}`);
    lines.push(`${name}_sum${formatLabels(series.labels)} ${series.sum}`);
    lines.push(`${name}_count${formatLabels(series.labels)} ${series.value}`);
  }
  return `${lines.join('\n')}\n`;
}

function formatLabels(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

function escapeValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
