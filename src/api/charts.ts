/** Charts of the last hour: what the API server answers at `/keelson/v1/charts/` and `/keelson/v1/api-charts`. No counterpart upstream. */

export type ChartName = 'cpu' | 'memory' | 'network' | 'restarts' | 'requests' | 'failures' | 'latency' | 'load';

/** What a series is of, beside an object: its place in the chart's legend. */
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
  /** Absent: it is of the object. */
  readonly name?: SeriesName;
  /** One of the largest of a list. */
  readonly object?: { readonly namespace: string; readonly name: string };
  /** Beside the set's times; null where nothing is known. */
  readonly values: readonly (number | null)[];
}

export interface Chart {
  readonly name: ChartName;
  readonly unit: 'cores' | 'bytes' | 'bytesPerSecond' | 'perSecond' | 'seconds' | 'count';
  readonly series: readonly ChartSeries[];
  /** The limit of a pod, what of a node can be allocated. */
  readonly limit?: number | undefined;
}

export interface ChartSet {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'ChartSet';
  /** Since when numbers are collected, in seconds since 1970. */
  readonly since: number;
  readonly periodSeconds: number;
  /** When the samples were taken, in seconds since 1970, the newest last. */
  readonly times: readonly number[];
  readonly charts: readonly Chart[];
  /** False: the cluster is so large that numbers are kept of what was asked for alone. */
  readonly complete: boolean;
}
