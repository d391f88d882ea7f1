import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { formatTime } from '../api/time.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { createProgrammingLatencies } from './programming-latency.ts';
import { createProxyMetrics } from './proxy-metrics.ts';

test('a change of endpoints is timed from its trigger to the transaction that contains it, once', async () => {
  const { clock, metrics } = createSimPlatform();
  const name = 'kubeproxy_network_programming_duration_seconds';
  const latencies = createProgrammingLatencies(clock, createProxyMetrics(metrics));
  const startMs = clock.nowMs();
  const slice = (seconds: number): EndpointSlice =>
    ({
      metadata: {
        name: 'web-1',
        annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': formatTime(startMs + seconds * 1000) },
      },
      addressType: 'IPv4',
      endpoints: [],
    }) as EndpointSlice;
  latencies.changed(slice(-5));
  await clock.advance(10_000);
  latencies.changed(slice(4));
  latencies.changed(slice(4), slice(4));
  latencies.taken();
  latencies.changed(slice(9), slice(4));
  await clock.advance(2000);
  latencies.applied();
  assert.equal(metrics.value(name), 1);
  assert.equal(metrics.sum(name), 8);
  latencies.taken();
  latencies.applied();
  assert.equal(metrics.sum(name), 8 + 3);
  latencies.applied();
  assert.equal(metrics.value(name), 2);
});
