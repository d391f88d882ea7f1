/**
 * Clears the condition DisruptionTarget of a pod that nothing has deleted within two minutes: whoever set it has
 * stopped or given up. Upstream: syncStalePodDisruption of pkg/controller/disruption.
 *
 * Watches: pods. Conditions that a kubelet set are kept: it may take longer.
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
/** Takes the place of reason and message of the disruption. Differs: upstream leaves both out. */
const CLEARED = { reason: 'StalePodDisruption', message: 'the pod was not deleted within two minutes' };

/** The wall-clock time at which the pod's condition becomes stale; undefined: it has none. */
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
      const conditions = [{ type: TYPE, status: 'False', lastTransitionTime: formatTime(clock.nowMs()), ...CLEARED }];
      // A newer condition must not be overwritten.
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
