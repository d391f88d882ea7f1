/** Status of a ReplicaSet, computed from the counts of its pods. Upstream: replica_set_utils.calculateStatus. */
import { formatTime } from '../../api/time.ts';
import type { ReplicaSetCondition, ReplicaSetStatus } from '../../api/gen/apps-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import { withCondition, withoutCondition } from '../../component-helpers/workload-conditions.ts';
import type { ReplicaOwner } from './flavours.ts';
import type { PodCounts } from './pod-tally.ts';

export interface StatusInput {
  readonly owner: ReplicaOwner;
  readonly counts: PodCounts;
  /** Whether the kind's status has terminatingReplicas. */
  readonly countsTerminating: boolean;
  /** Why creations or deletions failed in this sync. */
  readonly failure?: unknown;
  readonly nowMs: number;
}

/** The new status; equal to the old one when nothing changed. */
export function calculateStatus(input: StatusInput): ReplicaSetStatus {
  const { owner, counts } = input;
  const conditions = failureConditions(input);
  const { conditions: _, ...old } = owner.status ?? { replicas: 0 };
  return {
    ...old,
    replicas: counts.active,
    fullyLabeledReplicas: counts.labeled,
    readyReplicas: counts.ready,
    availableReplicas: counts.available,
    ...(input.countsTerminating ? { terminatingReplicas: counts.terminating } : {}),
    observedGeneration: owner.metadata.generation ?? 0,
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

function failureConditions({ owner, counts, failure, nowMs }: StatusInput): ReplicaSetCondition[] {
  const old = owner.status?.conditions;
  if (failure === undefined) return withoutCondition(old, 'ReplicaFailure');
  if (old?.some((condition) => condition.type === 'ReplicaFailure') === true) return [...old];
  const tooFew = counts.active < (owner.spec?.replicas ?? 1);
  return withCondition<ReplicaSetCondition>(old, {
    type: 'ReplicaFailure',
    status: 'True',
    lastTransitionTime: formatTime(nowMs),
    reason: tooFew ? 'FailedCreate' : 'FailedDelete',
    message: errorMessage(failure),
  });
}
