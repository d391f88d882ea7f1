/** Rates and latencies of requests between two samples of this server's counters. */
import { DURATION_BUCKETS, type DurationCounts, type RequestTotals } from '../request-metrics.ts';

/** The measures of the ring, in its order. */
export const REQUEST_MEASURES = [
  'reads',
  'writes',
  'watches',
  'clientErrors',
  'serverErrors',
  'readMedian',
  'read99',
  'writeMedian',
  'write99',
  'readsInFlight',
  'writesInFlight',
  'openWatches',
] as const;

/** The server's counts of its requests; `openWatches` are open now. */
export interface RequestState extends RequestTotals {
  readonly openWatches: number;
}

/** In the order of `REQUEST_MEASURES`. Rates are a second's. */
export function requestValues(before: RequestState | undefined, now: RequestState, seconds: number): readonly number[] {
  const inFlight = [now.readsInFlight, now.writesInFlight, now.openWatches];
  if (before === undefined || seconds <= 0) return [...Array.from({ length: 9 }, () => Number.NaN), ...inFlight];
  const rate = (last: number, newest: number): number => Math.max(0, newest - last) / seconds;
  const reads = countsSince(before.reads, now.reads);
  const writes = countsSince(before.writes, now.writes);
  return [
    rate(before.reads.total, now.reads.total),
    rate(before.writes.total, now.writes.total),
    rate(before.watches, now.watches),
    rate(before.clientErrors, now.clientErrors),
    rate(before.serverErrors, now.serverErrors),
    quantile(reads, 0.5),
    quantile(reads, 0.99),
    quantile(writes, 0.5),
    quantile(writes, 0.99),
    ...inFlight,
  ];
}

/** Counters fall when a resource is taken off: what was counted of it is left out. */
function countsSince(before: DurationCounts, now: DurationCounts): DurationCounts {
  return {
    counts: now.counts.map((count, bucket) => Math.max(0, count - before.counts[bucket]!)),
    total: Math.max(0, now.total - before.total),
  };
}

/** As Prometheus computes `histogram_quantile`: linear within a bucket, the highest bound at most. `NaN` without requests. */
export function quantile({ counts, total }: DurationCounts, share: number): number {
  if (total === 0) return Number.NaN;
  const rank = share * total;
  let sum = 0;
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && sum + count >= rank) {
      const from = bucket === 0 ? 0 : DURATION_BUCKETS[bucket - 1]!;
      return from + (DURATION_BUCKETS[bucket]! - from) * ((rank - sum) / count);
    }
    sum += count;
  }
  return DURATION_BUCKETS.at(-1)!;
}
