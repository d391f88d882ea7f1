/** Metrics of the duration of volume operations. Upstream: pkg/volume/util/metrics.go. */
import { onAbort } from '../../base/abort.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Platform } from '../../platform/platform.ts';

/** Bounds of durations of storage, in seconds. */
export const STORAGE_BUCKETS: readonly number[] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

/** Runs an operation on a volume and counts it. */
export type MeasureStorage = <T>(plugin: string, operation: string, run: () => Promise<T>) => Promise<T>;

export function createStorageMeasure({ clock, metrics }: Pick<Platform, 'clock' | 'metrics'>): MeasureStorage {
  const durations = metrics.histogram({
    name: 'storage_operation_duration_seconds',
    help: 'Time of what is done to volumes.',
    labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
    buckets: STORAGE_BUCKETS,
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

/** A volume of a pod: its plugin, and whether it is ready. */
export interface CountedVolume {
  readonly plugin: string;
  readonly ready: boolean;
}

/** Exposes the numbers of desired and ready volumes until the signal aborts. */
export function exposeVolumeTotals(
  metrics: Metrics,
  volumes: () => readonly CountedVolume[],
  signal: AbortSignal,
): void {
  const gauge = metrics.gauge({
    name: 'volume_manager_total_volumes',
    help: 'Number of volumes in Volume Manager',
    labels: ['plugin_name', 'state'],
  });
  const known = new Set<string>();
  const end = metrics.beforeExpose(() => {
    const all = volumes();
    for (const { plugin } of all) known.add(plugin);
    for (const plugin of known) {
      const wanted = all.filter((volume) => volume.plugin === plugin);
      gauge.set(wanted.length, { plugin_name: plugin, state: 'desired_state_of_world' });
      gauge.set(wanted.filter(({ ready }) => ready).length, { plugin_name: plugin, state: 'actual_state_of_world' });
    }
  });
  onAbort(signal, end);
}
