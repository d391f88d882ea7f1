/** The one queue for the pods of all profiles: the pod's own profile decides about PreEnqueue and queueing hints. */
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import type { SchedulerConfig } from './config/scheduler-config.ts';
import type { SchedulerPlugin } from './framework/plugin.ts';
import type { Status } from './framework/status.ts';
import type { NamedProfile } from './profiles.ts';
import type { QueueDeps, SchedulingQueue } from './queue/contract.ts';
import { eventTest } from './queue/queue-entries.ts';
import { createSchedulingQueue } from './queue/scheduling-queue.ts';

/** Creates the queue from the profiles' plugins. */
export function createProfilesQueue(
  deps: Pick<QueueDeps, 'clock' | 'hintFailed' | 'incoming'> & {
    readonly profiles: readonly NamedProfile[];
    readonly profileOf: (pod: Stored<Pod>) => NamedProfile;
  },
  config: SchedulerConfig,
): SchedulingQueue {
  const { profiles, profileOf, ...others } = deps;
  // The configuration is validated: all profiles have the same QueueSort plugin.
  const [sorter] = profiles.flatMap(({ points }) => points.queueSort);
  return createSchedulingQueue(
    {
      ...others,
      pluginsOf: (pod) => profileOf(pod).plugins,
      wants: eventTest(profiles.flatMap(({ plugins }) => plugins)),
      less: (a, b) => sorter?.less?.(a, b) ?? 0,
      preEnqueue: (pod) => firstStatus(profileOf(pod).points.preEnqueue, pod),
    },
    {
      initialBackoffMs: config.podInitialBackoffMs,
      maxBackoffMs: config.podMaxBackoffMs,
      maxUnschedulableMs: 300_000,
    },
  );
}

function firstStatus(plugins: readonly SchedulerPlugin[], pod: Stored<Pod>): Status | undefined {
  for (const plugin of plugins) {
    const status = plugin.preEnqueue?.(pod);
    if (status !== undefined) return status;
  }
  return undefined;
}
