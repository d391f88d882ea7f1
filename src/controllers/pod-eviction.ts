/**
 * Ends a pod that a taint drives away: an event, the condition that says why, the deletion. Upstream: addConditionAndDeletePod
 * of tainteviction and devicetainteviction.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import { isReason } from '../api/status-error.ts';
import { formatTime } from '../api/time.ts';
import type { ResourceClient } from '../client/client.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import { withPodCondition } from '../component-helpers/pods.ts';
import type { Clock } from '../platform/clock.ts';

/** Who evicts. */
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

/** Evicts the pod of this very uid. Resolves also when it is gone already; rejects when the API refuses. */
export async function evictPod(
  { pods, recorder, clock }: PodEvictionDeps,
  pod: Pod,
  { words, signal }: { readonly words: EvictionWords; readonly signal: AbortSignal },
): Promise<void> {
  const { namespace = '', name = '', uid } = pod.metadata;
  recorder.event(pod, 'Normal', words.event, `Marking for deletion Pod ${namespace}/${name}`);
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: words.reason,
    message: words.message,
    lastTransitionTime: formatTime(clock.nowMs()),
  };
  try {
    const patch = { metadata: { uid }, status: { conditions: withPodCondition(pod.status?.conditions, condition) } };
    await pods.patch({ namespace, name }, { type: 'strategic', patch }, { subresource: 'status', signal });
    await pods.delete({ namespace, name }, { signal, ...(uid === undefined ? {} : { preconditions: { uid } }) });
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
  }
}
