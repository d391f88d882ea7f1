/** Status of a ReplicaSet, computed from its pods. Upstream: replica_set_utils.calculateStatus. */
import { compileLabelMap } from '../../api/label-selector.ts';
import { formatTime } from '../../api/time.ts';
import type { ReplicaSetCondition, ReplicaSetStatus } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { isPodReady, msUntilAvailable } from '../../component-helpers/pods.ts';
import { withCondition, withoutCondition } from '../../component-helpers/workload-conditions.ts';
import type { ReplicaOwner } from './flavours.ts';

/** What the status is computed from. */
export interface StatusInput {
  readonly owner: ReplicaOwner;
  /** Active pods the owner controls. */
  readonly pods: readonly Pod[];
  /** Pods being deleted; absent where the kind does not count them. */
  readonly terminating?: number;
  /** Why creating or deleting pods failed in this round. */
  readonly failure?: unknown;
  readonly nowMs: number;
}

/** The new status; equal to the old one when nothing changed. */
export function calculateStatus(input: StatusInput): ReplicaSetStatus {
  const { owner, pods, nowMs } = input;
  const template = compileLabelMap(owner.spec?.template?.metadata?.labels);
  const minReadySeconds = owner.spec?.minReadySeconds ?? 0;
  let [labeled, ready, available] = [0, 0, 0];
  for (const pod of pods) {
    if (template.matches(pod.metadata.labels)) labeled++;
    const waitMs = msUntilAvailable(pod, minReadySeconds, nowMs);
    if (waitMs === undefined) {
      if (isPodReady(pod)) ready++;
      continue;
    }
    ready++;
    if (waitMs === 0) available++;
  }
  const conditions = failureConditions(input);
  const { conditions: _, ...old } = owner.status ?? { replicas: 0 };
  return {
    ...old,
    replicas: pods.length,
    fullyLabeledReplicas: labeled,
    readyReplicas: ready,
    availableReplicas: available,
    ...(input.terminating === undefined ? {} : { terminatingReplicas: input.terminating }),
    observedGeneration: owner.metadata.generation ?? 0,
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

function failureConditions({ owner, pods, failure, nowMs }: StatusInput): ReplicaSetCondition[] {
  const old = owner.status?.conditions;
  if (failure === undefined) return withoutCondition(old, 'ReplicaFailure');
  if (old?.some((condition) => condition.type === 'ReplicaFailure') === true) return [...old];
  const tooFew = pods.length < (owner.spec?.replicas ?? 1);
  return withCondition<ReplicaSetCondition>(old, {
    type: 'ReplicaFailure',
    status: 'True',
    lastTransitionTime: formatTime(nowMs),
    reason: tooFew ? 'FailedCreate' : 'FailedDelete',
    message: failure instanceof Error ? failure.message : String(failure),
  });
}

/** Milliseconds until the next ready pod becomes available; undefined when none will by time alone. */
export function nextAvailabilityMs(pods: readonly Pod[], minReadySeconds: number, nowMs: number): number | undefined {
  if (minReadySeconds === 0) return undefined;
  const waits = pods
    .map((pod) => msUntilAvailable(pod, minReadySeconds, nowMs))
    .filter((ms) => ms !== undefined && ms > 0);
  return waits.length === 0 ? undefined : Math.min(...(waits as number[]));
}
