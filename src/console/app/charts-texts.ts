/** Texts of the charts. */
import type { ChartName, SeriesName } from '../../api/charts.ts';
import { numberText } from './number-text.ts';

const CHART_NAMES: Readonly<Record<ChartName, string>> = {
  cpu: 'Processor',
  memory: 'Memory',
  network: 'Network',
  restarts: 'Restarts',
  requests: 'Requests',
  latency: 'Latency',
  failures: 'Refused and failed requests',
  load: 'At work',
};

const SERIES_NAMES: Readonly<Record<SeriesName, string>> = {
  used: 'used',
  received: 'received',
  sent: 'sent',
  restarts: 'restarts',
  total: 'all together',
  reads: 'reads',
  writes: 'writes',
  watches: 'watches begun',
  clientErrors: 'refused (4xx)',
  serverErrors: 'failed (5xx)',
  readMedian: 'reads, median',
  read99: 'reads, 99 of 100',
  writeMedian: 'writes, median',
  write99: 'writes, 99 of 100',
  readsInFlight: 'reads',
  writesInFlight: 'writes',
  openWatches: 'open watches',
};

export const chartsTexts = {
  title: 'Charts',
  api: 'API',
  lastHour: 'The last hour',
  mayNot: 'You may not see what these charts are of. Choose a namespace you work in.',
  charts: CHART_NAMES,
  series: SERIES_NAMES,
  limit: 'limit',
  of: (used: string, limit: string): string => `${used} of ${limit}`,
  plot: (chart: string): string => `${chart} over time`,
  at: (time: string, values: string): string => `${time}: ${values}`,
  unknown: 'not known',
  numbers: 'Numbers',
  numbersOf: (chart: string): string => `${chart} in numbers, the newest first`,
  time: 'Time',
  nothing: 'Nothing is known of it.',
  since: (time: string): string => `Collected since ${time}, and until an hour after the last question.`,
  soon: 'Collecting has begun: the first numbers come in a few seconds.',
  incomplete:
    'In a cluster of this size numbers are kept of nodes, pods and workloads whose charts were opened in the last hour.',
  ownServer: 'Of the API server that serves this page, all its clients together.',
  largest: (count: number): string => `All together, and the ${numberText(count)} that took most.`,
} as const;
