/** PrioritySort: higher priority first, then the pod that entered the queue first. Upstream: plugins/queuesort. */
import type { SchedulerPlugin } from '../../framework/plugin.ts';

export function createPrioritySort(): SchedulerPlugin {
  return {
    name: 'PrioritySort',
    less: (a, b) => (b.pod.spec?.priority ?? 0) - (a.pod.spec?.priority ?? 0) || a.queuedAtMs - b.queuedAtMs,
  };
}
