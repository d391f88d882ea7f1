/** A metrics registry in memory, which tests read; the text format is the real one. */
import { escapeLabelValue } from '../label-value.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Counter, Gauge, Histogram, Metrics, MetricSpec } from '../metrics.ts';

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
  /** A histogram's observations by the first bound they do not exceed. */
  readonly bucketCounts: number[];
}

const NO_BUCKETS: number[] = [];

/** The last specification of each name: thousands of kubelets register the same metrics. */
const knownSpecs = new Map<string, MetricSpec>();

function sharedSpec(spec: MetricSpec): MetricSpec {
  const cached = knownSpecs.get(spec.name);
  if (cached !== undefined && deepEqual(cached, spec)) return cached;
  knownSpecs.set(spec.name, spec);
  return spec;
}

const DEFAULT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A metric of any type. A class, and its own handle: a kubelet makes dozens, a simulation thousands of kubelets. */
class MemoryMetric implements Counter, Gauge, Histogram {
  readonly spec: MetricSpec;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Made with the first value. */
  #series: Map<string, Series> | undefined;

  constructor(spec: MetricSpec, type: MemoryMetric['type']) {
    this.spec = spec;
    this.type = type;
  }

  get series(): Iterable<Series> {
    return this.#series?.values() ?? [];
  }

  find(labels: Labels): Series | undefined {
    return this.#series?.get(keyOf(this.spec, labels));
  }

  inc(labels: Labels = {}, by = 1): void {
    this.#seriesOf(labels).value += by;
  }

  set(value: number, labels: Labels = {}): void {
    this.#seriesOf(labels).value = value;
  }

  observe(value: number, labels: Labels = {}): void {
    const series = this.#seriesOf(labels);
    series.value++;
    series.sum += value;
    const bucket = boundsOf(this).findIndex((bound) => value <= bound);
    if (bucket >= 0) series.bucketCounts[bucket]!++;
  }

  remove(labels: Labels): void {
    this.#series?.delete(keyOf(this.spec, labels));
  }

  #seriesOf(labels: Labels): Series {
    const key = keyOf(this.spec, labels);
    const all = (this.#series ??= new Map());
    let series = all.get(key);
    if (series === undefined) {
      const bucketCounts = this.type === 'histogram' ? boundsOf(this).map(() => 0) : NO_BUCKETS;
      all.set(key, (series = { labels, value: 0, sum: 0, bucketCounts }));
    }
    return series;
  }
}

/** Makes an empty registry. */
export function createMemoryMetrics(): MemoryMetrics {
  const metrics = new Map<string, MemoryMetric>();
  const refreshes = new Set<() => void>();
  const register = (spec: MetricSpec, type: MemoryMetric['type']): MemoryMetric => {
    let metric = metrics.get(spec.name);
    if (metric === undefined) metrics.set(spec.name, (metric = new MemoryMetric(sharedSpec(spec), type)));
    if (metric.type !== type) throw new Error(`metric ${spec.name} is a ${metric.type}, not a ${type}`);
    return metric;
  };
  return {
    counter: (spec) => register(spec, 'counter'),
    gauge: (spec) => register(spec, 'gauge'),
    histogram: (spec) => register(spec, 'histogram'),
    beforeExpose(refresh) {
      refreshes.add(refresh);
      return () => void refreshes.delete(refresh);
    },
    expose() {
      for (const refresh of refreshes) refresh();
      return Promise.resolve([...metrics.values()].map(format).join('\n'));
    },
    value: (name, labels = {}) => metrics.get(name)?.find(labels)?.value,
    sum: (name, labels = {}) => metrics.get(name)?.find(labels)?.sum,
  };
}

/** Values in the order of the metric's labels. Throws for labels it does not have. */
function keyOf({ name, labels: names = [] }: MetricSpec, labels: Labels): string {
  for (const label in labels) if (!names.includes(label)) throw new Error(`metric ${name} has no label ${label}`);
  if (names.length === 0) return '';
  if (names.length === 1) return labels[names[0]!] ?? '';
  let key = '';
  for (const label of names) key += `${labels[label] ?? ''}\0`;
  return key;
}

/** Ascending. */
function boundsOf({ spec }: MemoryMetric): readonly number[] {
  return spec.buckets ?? DEFAULT_BUCKETS;
}

function format(metric: MemoryMetric): string {
  const { name, help } = metric.spec;
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${metric.type}`];
  for (const series of metric.series) {
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
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabelValue(value)}"`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}
