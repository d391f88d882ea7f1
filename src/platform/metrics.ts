/** The metrics port: Prometheus types under upstream's names. Creating the same metric twice returns the first. */

export interface Counter {
  inc(labels?: Readonly<Record<string, string>>, by?: number): void;
  /** Removes the series with these labels, whose subject no longer exists. */
  remove(labels: Readonly<Record<string, string>>): void;
}
export interface Gauge {
  set(value: number, labels?: Readonly<Record<string, string>>): void;
  /** Removes the series with these labels. */
  remove(labels: Readonly<Record<string, string>>): void;
}
export interface Histogram {
  /** `value` has the unit in the metric's name, mostly seconds. */
  observe(value: number, labels?: Readonly<Record<string, string>>): void;
}
export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Histogram bucket bounds. */
  readonly buckets?: readonly number[];
}

/** Counted by every `Log.unexpected` of a platform. */
export const UNEXPECTED_ERRORS_SPEC: MetricSpec = {
  name: 'keelson_unexpected_errors_total',
  help: 'Errors caught at a boundary that nobody foresaw, by the component that met them. Each is in the log with its stack.',
  labels: ['component'],
};

export interface Metrics {
  counter(spec: MetricSpec): Counter;
  gauge(spec: MetricSpec): Gauge;
  histogram(spec: MetricSpec): Histogram;
  /**
   * Calls back before every exposition, to update gauges that are not kept current otherwise. The returned function
   * unregisters; series that were set stay.
   */
  beforeExpose(refresh: () => void): () => void;
  /** Everything in Prometheus text format 0.0.4. */
  expose(): Promise<string>;
}
