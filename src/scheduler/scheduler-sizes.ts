/** Sizes of the scheduler's queue and cache, under upstream's names, read at each exposition. */
import { onAbort } from '../base/abort.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { SchedulerCache } from './cache/scheduler-cache.ts';
import { schedulerNameOf } from './profiles.ts';
import type { SchedulingQueue } from './queue/contract.ts';

interface Sized {
  readonly cache: SchedulerCache;
  readonly queue: SchedulingQueue;
}

interface SchedulerSizes {
  readonly pending: Readonly<Record<'active' | 'backoff' | 'unschedulable' | 'gated', number>>;
  /**
   * Pods that wait after a rejection, or that PreEnqueue keeps out, by plugin; several plugins may have rejected one
   * pod.
   */
  readonly rejections: readonly { readonly plugin: string; readonly profile: string; readonly count: number }[];
  readonly cache: Readonly<Record<'nodes' | 'pods' | 'assumed_pods', number>>;
}

/** Updates the gauges at every exposition, until the signal aborts. */
export function exposeSchedulerSizes(metrics: Metrics, sized: Sized, signal: AbortSignal): void {
  const pending = metrics.gauge({
    name: 'scheduler_pending_pods',
    help: 'Pods without a node: to be tried next (active), after a pause (backoff), after an event that may help (unschedulable), not before their gates are gone (gated).',
    labels: ['queue'],
  });
  const cache = metrics.gauge({
    name: 'scheduler_cache_size',
    help: 'Nodes, pods and pods on their way to a node that the scheduler knows.',
    labels: ['type'],
  });
  const rejections = metrics.gauge({
    name: 'scheduler_unschedulable_pods',
    help: 'Pods that a plugin has rejected and that have not been tried again, or that it holds out of the queue.',
    labels: ['plugin', 'profile'],
  });
  let last: SchedulerSizes | undefined;
  const forgetRejections = (): void =>
    last?.rejections.forEach(({ plugin, profile }) => rejections.remove({ plugin, profile }));
  const end = metrics.beforeExpose(() => {
    forgetRejections();
    const now = (last = sizesOf(sized));
    for (const { plugin, profile, count } of now.rejections) rejections.set(count, { plugin, profile });
    for (const [queue, count] of Object.entries(now.pending)) pending.set(count, { queue });
    for (const [type, count] of Object.entries(now.cache)) cache.set(count, { type });
  });
  const forget = (): void => {
    end();
    forgetRejections();
    for (const queue of Object.keys(last?.pending ?? {})) pending.remove({ queue });
    for (const type of Object.keys(last?.cache ?? {})) cache.remove({ type });
  };
  onAbort(signal, forget);
}

function sizesOf({ cache, queue }: Sized): SchedulerSizes {
  const { pods, assumed } = cache.podCounts();
  const rejections = new Map<string, { plugin: string; profile: string; count: number }>();
  for (const { pod, rejectedBy } of queue.rejected())
    for (const plugin of rejectedBy) {
      const profile = schedulerNameOf(pod);
      const key = `${plugin}/${profile}`;
      rejections.set(key, { plugin, profile, count: (rejections.get(key)?.count ?? 0) + 1 });
    }
  return {
    pending: queue.counts(),
    rejections: [...rejections.values()],
    cache: { nodes: cache.nodeCount(), pods, assumed_pods: assumed },
  };
}
