/**
 * Takes back the announcement that a pod is about to go (condition DisruptionTarget) when nothing has deleted it within two
 * minutes: who announced it died or thought better of it. Upstream: syncStalePodDisruption of pkg/controller/disruption.
 *
 * Watches: pods. What a kubelet announces stays: it may take its time.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import { createKeyedLoop, informerList, type ControllerDeps, type KeyedLoop } from '../controller.ts';

const TYPE = 'DisruptionTarget';
const BY_KUBELET = 'TerminationByKubelet';
const TIMEOUT_MS = 2 * 60_000;

/** When the pod's announcement is to be taken back, by the wall clock; undefined: there is none. */
function staleAtMs({ metadata, status }: Pod): number | undefined {
  const condition = status?.conditions?.find(({ type }) => type === TYPE);
  if (metadata.deletionTimestamp !== undefined || condition?.status !== 'True' || condition.reason === BY_KUBELET)
    return undefined;
  const sinceMs = parseTime(condition.lastTransitionTime);
  return (Number.isNaN(sinceMs) ? 0 : sinceMs) + TIMEOUT_MS;
}

export function createStaleDisruptionLoop(deps: ControllerDeps, client: Client): KeyedLoop {
  const { clock } = deps.platform;
  const pods = deps.informers.informer(Pods);
  const loop = createKeyedLoop(deps, {
    name: 'disruption-controller',
    queueName: 'stale_pod_disruption',
    workers: 1,
    informers: informerList(pods),
    async sync(key, signal) {
      const pod = pods.get(parseKey(key));
      const dueMs = pod === undefined || isPodTerminal(pod) ? undefined : staleAtMs(pod);
      if (pod === undefined || dueMs === undefined) return;
      const leftMs = dueMs - clock.nowMs();
      if (leftMs > 0) return loop.queue.addAfter(key, leftMs);
      const { uid, resourceVersion } = pod.metadata;
      // Reason and message of the disruption that did not happen are removed, too.
      const untold = { reason: null, message: null };
      const conditions = [{ type: TYPE, status: 'False', lastTransitionTime: formatTime(clock.nowMs()), ...untold }];
      // What announced it again meanwhile must win.
      const patch = { metadata: { uid, resourceVersion }, status: { conditions } };
      await client
        .resource(Pods)
        .patch(parseKey(key), { type: 'strategic', patch }, { subresource: 'status', signal })
        .catch(ignoreNotFound);
    },
  });
  const enqueue = (pod: Pod): void => {
    if (staleAtMs(pod) !== undefined) loop.queue.add(keyOfObject(pod));
  };
  pods.addHandler({ onAdd: enqueue, onUpdate: (_, pod) => enqueue(pod) });
  return loop;
}
