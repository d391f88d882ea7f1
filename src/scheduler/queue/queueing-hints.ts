/** Asks the queueing hints of the plugins that rejected a pod. Upstream: PriorityQueue.isPodWorthRequeuing. */
import type { QueueDeps } from './contract.ts';
import type { Entry, HappenedEvent } from './queue-entries.ts';

/** Whether the event may make the pod schedulable. */
export type RequeueTest = (rejected: Pick<Entry, 'pod' | 'rejectedBy'>, happened: HappenedEvent) => boolean;

export function createRequeueTest({ pluginsOf, hintFailed }: QueueDeps): RequeueTest {
  const asksForQueueing = (plugin: string, hint: () => boolean): boolean => {
    try {
      return hint();
    } catch (error) {
      hintFailed?.(plugin, error);
      return true;
    }
  };
  return ({ pod, rejectedBy }, { event: happened, oldObject, newObject }) =>
    pluginsOf(pod).some(
      ({ name, events = [] }) =>
        rejectedBy.has(name) &&
        events.some(
          ({ event, hint }) =>
            event === happened && (hint === undefined || asksForQueueing(name, () => hint(pod, oldObject, newObject))),
        ),
    );
}
