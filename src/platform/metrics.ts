/** The metrics port: Prometheus types under upstream's names. Creating the same metric twice returns the first. */

export interface Counter {
  inc(labels?: Readonly<Record<string, string>>, by?: number): void;
  /** Removes the series with these labels: what they name is gone. */
  remove(labels: Readonly<Record<string, string>>): void;
}
export interface Gauge {
  set(value: number, labels?: Readonly<Record<string, string>>): void;
  /** Removes the series with these labels. */
  remove(labels: Readonly<Record<string, string>>): void;
}
export interface Histogram {
  /** `value` in the unit the metric's name says, seconds mostly. */
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
   * Calls back before every exposition: the time to set gauges that nobody keeps up to date meanwhile. The function that is
   * returned ends it; the series that were set stay.
   */
  beforeExpose(refresh: () => void): () => void;
  /** Everything in Prometheus text format 0.0.4. */
  expose(): Promise<string>;
}
