/** The scheduler's configuration of a cluster of a test. */
import type { SchedulerSetup } from '../cluster/control-plane/scheduler-setup.ts';
import type { SimPlatform } from '../platform/sim/sim-platform.ts';
import type { Clock } from '../platform/clock.ts';
import type { ClusterOptions } from './cluster-options.ts';
import type { Pace } from './pace.ts';

/** What reads it is loaded where there is one. Rejects when it is not understood. */
export async function readSchedulerConfig(
  { schedulerConfig }: ClusterOptions,
  { pace, platform }: { readonly pace: Pace; readonly platform: SimPlatform<Clock> },
): Promise<SchedulerSetup | undefined> {
  if (schedulerConfig === undefined) return undefined;
  const { readSchedulerSetup } = await import('../cluster/control-plane/scheduler-setup.ts');
  return pace.drive(readSchedulerSetup(platform, schedulerConfig));
}
