import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DURATION_BUCKETS } from '../request-metrics.ts';
import { quantile, REQUEST_MEASURES, type RequestState, requestValues } from './request-rates.ts';

const counts = (...entries: readonly [bound: number, count: number][]): { counts: number[]; total: number } => {
  const byBucket = DURATION_BUCKETS.map((bound) => entries.find(([each]) => each === bound)?.[1] ?? 0);
  return { counts: byBucket, total: entries.reduce((sum, [, count]) => sum + count, 0) };
};

const state = (parts: Partial<RequestState>): RequestState => ({
  reads: counts(),
  writes: counts(),
  watches: 0,
  clientErrors: 0,
  serverErrors: 0,
  readsInFlight: 0,
  writesInFlight: 0,
  openWatches: 0,
  ...parts,
});

const named = (values: readonly number[]): Record<string, number> =>
  Object.fromEntries(REQUEST_MEASURES.map((name, index) => [name, values[index]!]));

describe('quantiles', () => {
  // As histogram_quantile of Prometheus.
  const cases: readonly [string, ReturnType<typeof counts>, number, number][] = [
    ['nothing', counts(), 0.5, NaN],
    ['the middle of the first bucket', counts([0.005, 10]), 0.5, 0.0025],
    ['the end of a bucket', counts([0.005, 50], [0.025, 50]), 0.5, 0.005],
    ['within a later bucket', counts([0.005, 50], [0.1, 50]), 0.75, 0.075],
    ['beyond the last bound', { counts: counts().counts, total: 4 }, 0.99, 60],
  ];
  for (const [name, durations, share, expected] of cases)
    it(name, () =>
      assert.ok(
        Object.is(expected, NaN)
          ? Number.isNaN(quantile(durations, share))
          : Math.abs(quantile(durations, share) - expected) < 1e-12,
      ),
    );
});

describe('rates of requests', () => {
  it('are of the time between two samples', () => {
    const before = state({ reads: counts([0.005, 100]), watches: 2, clientErrors: 1 });
    const now = state({
      reads: counts([0.005, 100], [0.1, 60]),
      writes: counts([0.025, 30]),
      watches: 5,
      clientErrors: 4,
      serverErrors: 3,
      openWatches: 7,
    });
    const { reads, writes, watches, clientErrors, serverErrors, openWatches, readMedian } = named(
      requestValues(before, now, 30),
    );
    assert.deepEqual([reads, writes, watches, clientErrors, serverErrors, openWatches], [2, 1, 0.1, 0.1, 0.1, 7]);
    assert.ok(Math.abs(readMedian! - 0.075) < 1e-9, 'the requests before are left out');
  });

  it('are unknown at first, and never negative when series are removed', () => {
    assert.ok(Number.isNaN(named(requestValues(undefined, state({ watches: 9 }), 30))['watches']));
    const fallen = named(requestValues(state({ reads: counts([0.1, 9]) }), state({}), 30));
    assert.equal(fallen['reads'], 0);
    assert.ok(Number.isNaN(fallen['read99']));
  });
});
