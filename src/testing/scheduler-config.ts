/** The scheduler configuration of a test's cluster. */
import type { SchedulerSetup } from '../cluster/control-plane/scheduler-setup.ts';
import type { SimPlatform } from '../platform/sim/sim-platform.ts';
import type { Clock } from '../platform/clock.ts';
import type { ClusterOptions } from './cluster-options.ts';
import type { Pace } from './pace.ts';

/** Loads the parser only when there is a configuration. Rejects for an invalid one. */
export async function readSchedulerConfig(
  { schedulerConfig }: ClusterOptions,
  { pace, platform }: { readonly pace: Pace; readonly platform: SimPlatform<Clock> },
): Promise<SchedulerSetup | undefined> {
  if (schedulerConfig === undefined) return undefined;
  const { readSchedulerSetup } = await import('../cluster/control-plane/scheduler-setup.ts');
  return pace.drive(readSchedulerSetup(platform, schedulerConfig));
}
