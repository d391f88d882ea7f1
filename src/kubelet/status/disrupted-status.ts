/** The status of a pod that the kubelet ends because of the node: failed, with the condition DisruptionTarget. Pure. */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';

/** Why the pod is ended. */
export interface Disruption {
  readonly reason: string;
  readonly message: string;
  /** Message of the condition, if it differs from the status's. */
  readonly conditionMessage?: string;
  readonly nowMs: number;
}

/** The failed status with the condition. */
export function disruptedStatus(status: PodStatus, pod: Pod, why: Disruption): PodStatus {
  const { generation } = pod.metadata;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'TerminationByKubelet',
    message: why.conditionMessage ?? why.message,
    lastTransitionTime: formatTime(why.nowMs),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget');
  return {
    ...status,
    phase: 'Failed',
    reason: why.reason,
    message: why.message,
    conditions: [...others, condition],
  };
}
