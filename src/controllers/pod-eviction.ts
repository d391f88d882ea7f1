/**
 * Evicts a pod because of a taint: writes an event and a condition, and deletes the pod. Upstream:
 * addConditionAndDeletePod of tainteviction and devicetainteviction.
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

/** The reason of the event, and reason and message of the condition DisruptionTarget. */
export interface EvictionWords {
  readonly event: 'DeviceTaintManagerEviction' | 'TaintManagerEviction';
  readonly reason: string;
  readonly message: string;
}

export interface EvictionMetrics {
  /** Records the delay in seconds between the due time and the deletion. */
  deleted(latencySeconds: number): void;
}

/** Registers upstream's metrics of an evicting controller. */
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

/** Evicts the pod with this uid. Resolves to false when it is already gone; rejects when the API refuses. */
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
    // An earlier controller set the condition and stopped before the deletion.
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
