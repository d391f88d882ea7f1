/**
 * Deletes a pod that does not tolerate a taint: an event, the condition with the reason, the deletion. Upstream: addConditionAndDeletePod
 * of tainteviction and devicetainteviction.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import { isReason } from '../api/status-error.ts';
import { formatTime } from '../api/time.ts';
import type { Stored } from '../api/object.ts';
import type { ResourceClient } from '../client/client.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import { withPodCondition } from '../component-helpers/pods.ts';
import type { Clock } from '../platform/clock.ts';
import type { Metrics } from '../platform/metrics.ts';

export interface PodEvictionDeps {
  readonly pods: ResourceClient<Pod>;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
}

/** In whose name: the reason of the event, reason and message of the condition DisruptionTarget. */
export interface EvictionWords {
  readonly event: string;
  readonly reason: string;
  readonly message: string;
}

export interface EvictionMetrics {
  /** Records how many seconds after it was due a pod was deleted. */
  deleted(latencySeconds: number): void;
}

/** Registers upstream's metrics of a controller that evicts. */
export function createEvictionMetrics(metrics: Metrics, subsystem: string): EvictionMetrics {
  const total = metrics.counter({
    name: `${subsystem}_pod_deletions_total`,
    help: 'Pods deleted by the controller since it started.',
  });
  const latency = metrics.histogram({
    name: `${subsystem}_pod_deletion_duration_seconds`,
    help: 'Time from when a pod was to be deleted to its deletion.',
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
  });
  return {
    deleted(latencySeconds) {
      total.inc();
      latency.observe(latencySeconds);
    },
  };
}

/** Evicts the pod of this very uid. Resolves to false when it is gone already; rejects when the API refuses. */
export async function evictPod(
  { pods, recorder, clock }: PodEvictionDeps,
  pod: Stored<Pod>,
  { words, signal }: { readonly words: EvictionWords; readonly signal: AbortSignal },
): Promise<boolean> {
  const { namespace, name, uid } = pod.metadata;
  recorder.event(pod, 'Normal', words.event, `Marking for deletion Pod ${namespace}/${name}`);
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: words.reason,
    message: words.message,
    lastTransitionTime: formatTime(clock.nowMs()),
  };
  try {
    const before = pod.status?.conditions?.find(({ type }) => type === condition.type);
    // Said already, by one that did not come to the deletion.
    const hasCondition =
      before?.status === 'True' && before.reason === words.reason && before.message === words.message;
    if (!hasCondition) {
      const patch = { metadata: { uid }, status: { conditions: withPodCondition(pod.status?.conditions, condition) } };
      await pods.patch({ namespace, name }, { type: 'strategic', patch }, { subresource: 'status', signal });
    }
    await pods.delete({ namespace, name }, { signal, preconditions: { uid } });
    return true;
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
    return false;
  }
}
