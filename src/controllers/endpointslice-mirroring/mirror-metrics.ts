/**
 * Metrics of mirroring, beside those of both controllers that write slices. Upstream: endpointslicemirroring/metrics.
 */
import { firstBy } from '../../base/first-by.ts';
import type { EndpointSlice } from '../../api/gen/discovery-v1.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { MirrorPlan } from './mirror-plan.ts';

export interface MirrorMetrics {
  /** Records an applied plan. */
  mirrored(existing: readonly EndpointSlice[], plan: MirrorPlan): void;
  /** Records the duration of a sync, successful or not. */
  took(seconds: number): void;
}

export function createMirrorMetrics(metrics: Metrics): MirrorMetrics {
  const histogram = (name: string, help: string, first: number) =>
    metrics.histogram({
      name: `endpoint_slice_mirroring_controller_${name}`,
      help,
      buckets: Array.from({ length: 15 }, (_, i) => first * 2 ** i),
    });
  const updated = histogram('endpoints_updated_per_sync', 'Endpoints updated in a sync of an Endpoints object.', 2);
  const skipped = histogram('addresses_skipped_per_sync', 'Addresses that were too many for a subset, in a sync.', 2);
  const duration = histogram('endpoints_sync_duration', 'Time a sync took, in seconds.', 0.001);
  return {
    mirrored(existing, plan) {
      updated.observe(changedEndpoints(existing, plan.update));
      skipped.observe(plan.skipped);
    },
    took: (seconds) => duration.observe(seconds),
  };
}

/** Endpoints whose address existed before and whose other fields changed. */
function changedEndpoints(existing: readonly EndpointSlice[], update: readonly EndpointSlice[]): number {
  let count = 0;
  const byUid = firstBy(existing, ({ metadata }) => metadata.uid);
  for (const slice of update) {
    const old = byUid.get(slice.metadata.uid);
    const before = new Map((old?.endpoints ?? []).map((each) => [each.addresses.join(), each]));
    for (const endpoint of slice.endpoints ?? []) {
      const known = before.get(endpoint.addresses.join());
      if (known !== undefined && !deepEqual(known, endpoint)) count++;
    }
  }
  return count;
}
