/** How long volumes' set-ups take, under upstream's name. Upstream: pkg/volume/util/metrics.go. */
import type { Platform } from '../../platform/platform.ts';

/** Bounds of durations of storage, in seconds. */
export const storageBuckets: readonly number[] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

/** Runs an operation on a volume and counts it. */
export type MeasureStorage = <T>(plugin: string, operation: string, run: () => Promise<T>) => Promise<T>;

/** Makes the measurer. */
export function createStorageMeasure({ clock, metrics }: Pick<Platform, 'clock' | 'metrics'>): MeasureStorage {
  const durations = metrics.histogram({
    name: 'storage_operation_duration_seconds',
    help: 'Time of what is done to volumes.',
    labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
    buckets: storageBuckets,
  });
  return async (plugin, operation, run) => {
    const startMs = clock.monotonicMs();
    let status = 'fail-unknown';
    try {
      const result = await run();
      status = 'success';
      return result;
    } finally {
      const labels = { volume_plugin: plugin, operation_name: operation, status, migrated: 'false' };
      durations.observe((clock.monotonicMs() - startMs) / 1000, labels);
    }
  };
}
