/** Metrics of service syncs, beside those of both controllers that write slices. Upstream: endpointslice/metrics. */
import type { Service } from '../../api/gen/core-v1.ts';
import { keyOfObject } from '../../client/object-store.ts';
import type { Metrics } from '../../platform/metrics.ts';

export interface SyncMetrics {
  /** Records the result of a sync. */
  synced(result: 'success' | 'error'): void;
  /** Records the number of slices of one address type; `byZone`: topology hints are set. */
  wrote(service: Service, slices: number, byZone: boolean): void;
  /** The service is gone, or has no slices of this controller. */
  forget(key: string): void;
}

export function createSyncMetrics(metrics: Metrics): SyncMetrics {
  const spec = (name: string, help: string, labels: readonly string[]) => ({
    name: `endpoint_slice_controller_${name}`,
    help,
    labels,
  });
  const syncs = metrics.counter(spec('syncs', 'Syncs by their result.', ['result']));
  const changed = metrics.histogram(
    spec('endpointslices_changed_per_sync', 'EndpointSlices changed in a sync of a service.', [
      'topology',
      'traffic_distribution',
    ]),
  );
  const distributions = metrics.gauge(
    spec('services_count_by_traffic_distribution', 'Services by their trafficDistribution.', ['traffic_distribution']),
  );
  const desired = new Map<string, string>();
  const counts = new Map<string, number>();
  const add = (distribution: string, change: number): void => {
    if (distribution === '') return;
    const count = (counts.get(distribution) ?? 0) + change;
    counts.set(distribution, count);
    distributions.set(count, { traffic_distribution: distribution });
  };
  const record = (key: string, now: string): void => {
    const before = desired.get(key) ?? '';
    if (before === now) return;
    if (now === '') desired.delete(key);
    else desired.set(key, now);
    add(before, -1);
    add(now, 1);
  };
  return {
    synced: (result) => syncs.inc({ result }),
    wrote(service, slices, byZone) {
      const distribution = service.spec?.trafficDistribution ?? '';
      record(keyOfObject(service), distribution);
      changed.observe(slices, { topology: byZone ? 'Auto' : 'Disabled', traffic_distribution: distribution });
    },
    forget: (key) => record(key, ''),
  };
}
