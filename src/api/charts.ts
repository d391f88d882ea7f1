/**
 * Charts of the last hour: the types of the API server's responses at `/keelson/v1/charts/` and `/keelson/v1/api-charts`. No
 * counterpart upstream.
 */

export type ChartName = 'cpu' | 'memory' | 'network' | 'restarts' | 'requests' | 'failures' | 'latency' | 'load';

/** The name of a series: its entry in the chart's legend. */
export type SeriesName =
  | 'used'
  | 'received'
  | 'sent'
  | 'restarts'
  | 'total'
  | 'reads'
  | 'writes'
  | 'watches'
  | 'clientErrors'
  | 'serverErrors'
  | 'readMedian'
  | 'read99'
  | 'writeMedian'
  | 'write99'
  | 'readsInFlight'
  | 'writesInFlight'
  | 'openWatches';

export interface ChartSeries {
  /** Absent for the only series of the chart's object. */
  readonly name?: SeriesName;
  /** The object of the series, in charts of the largest of a list. */
  readonly object?: { readonly namespace: string; readonly name: string };
  /** One value for each of the set's times; null where it is unknown. */
  readonly values: readonly (number | null)[];
}

export interface Chart {
  readonly name: ChartName;
  readonly unit: 'cores' | 'bytes' | 'bytesPerSecond' | 'perSecond' | 'seconds' | 'count';
  readonly series: readonly ChartSeries[];
  /** The limit of a pod, or a node's allocatable amount. */
  readonly limit?: number | undefined;
}

export interface ChartSet {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'ChartSet';
  /** The time at which collection began, in seconds since 1970. */
  readonly since: number;
  readonly periodSeconds: number;
  /** The times of the samples, in seconds since 1970, the newest last. */
  readonly times: readonly number[];
  readonly charts: readonly Chart[];
  /** False when the cluster is so large that samples are kept only for objects whose charts were requested. */
  readonly complete: boolean;
}
