/** Status and conditions of a Deployment. Pure. Upstream: controller/deployment sync.calculateStatus and progress. */
import { formatTime, parseTime } from '../../api/time.ts';
import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from '../../api/gen/apps-v1.ts';
import { withCondition, withoutCondition } from '../../component-helpers/workload-conditions.ts';
import { maxUnavailable, replicasOf, specReplicas, statusSum } from './replica-math.ts';
import { allOf, type SetsOfDeployment } from './replica-sets.ts';

const NO_DEADLINE = 2_147_483_647;

/** A condition as of `nowMs`. */
export function condition(
  fields: Pick<DeploymentCondition, 'type' | 'status'> & { reason: string; message: string },
  nowMs: number,
): DeploymentCondition {
  const now = formatTime(nowMs);
  return { ...fields, lastUpdateTime: now, lastTransitionTime: now };
}

/** Whether the Deployment has a progressDeadlineSeconds. */
export function hasProgressDeadline(deployment: Deployment): boolean {
  const seconds = deployment.spec?.progressDeadlineSeconds;
  return seconds !== undefined && seconds !== NO_DEADLINE;
}

export function progressing(status: DeploymentStatus | undefined): DeploymentCondition | undefined {
  return status?.conditions?.find((c) => c.type === 'Progressing');
}

/** The status by the sets, without the Progressing condition. */
export function calculateStatus(deployment: Deployment, sets: SetsOfDeployment, nowMs: number): DeploymentStatus {
  const all = allOf(sets);
  const available = statusSum(all, 'availableReplicas');
  const terminating = all.map((set) => set.status?.terminatingReplicas);
  const enough = available >= replicasOf(deployment) - maxUnavailable(deployment);
  const availability = condition(
    enough
      ? {
          type: 'Available',
          status: 'True',
          reason: 'MinimumReplicasAvailable',
          message: 'Deployment has minimum availability.',
        }
      : {
          type: 'Available',
          status: 'False',
          reason: 'MinimumReplicasUnavailable',
          message: 'Deployment does not have minimum availability.',
        },
    nowMs,
  );
  const { collisionCount, conditions } = deployment.status ?? {};
  return {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: statusSum(all, 'replicas'),
    updatedReplicas: sets.newSet === undefined ? 0 : statusSum([sets.newSet], 'replicas'),
    readyReplicas: statusSum(all, 'readyReplicas'),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, specReplicas(all) - available),
    ...(terminating.every((count) => count !== undefined)
      ? { terminatingReplicas: terminating.reduce<number>((sum, count) => sum + (count ?? 0), 0) }
      : {}),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    conditions: withCondition(conditions, availability),
  };
}

/** Whether all replicas have the newest template and are available. */
export function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const desired = replicasOf(deployment);
  return (
    (status.updatedReplicas ?? 0) === desired &&
    (status.replicas ?? 0) === desired &&
    (status.availableReplicas ?? 0) === desired &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

function hasProgressed(old: DeploymentStatus, status: DeploymentStatus): boolean {
  const oldOnes = (s: DeploymentStatus): number => (s.replicas ?? 0) - (s.updatedReplicas ?? 0);
  return (
    (status.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    oldOnes(status) < oldOnes(old) ||
    (status.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (status.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  );
}

function hasTimedOut(deployment: Deployment, status: DeploymentStatus, nowMs: number): boolean {
  const current = progressing(status);
  if (current === undefined || current.reason === 'NewReplicaSetAvailable') return false;
  if (current.reason === 'ProgressDeadlineExceeded') return true;
  return parseTime(current.lastUpdateTime) + (deployment.spec?.progressDeadlineSeconds ?? 0) * 1000 < nowMs;
}

/** The status of a rollout: `calculateStatus` with the Progressing and ReplicaFailure conditions. */
export function rolloutStatus(deployment: Deployment, sets: SetsOfDeployment, nowMs: number): DeploymentStatus {
  const status = calculateStatus(deployment, sets, nowMs);
  let conditions = status.conditions ?? [];
  const current = progressing(deployment.status);
  const wasComplete = status.replicas === status.updatedReplicas && current?.reason === 'NewReplicaSetAvailable';
  if (!hasProgressDeadline(deployment)) conditions = withoutCondition(conditions, 'Progressing');
  else if (!wasComplete) conditions = withProgress({ deployment, sets, status, nowMs }, conditions);
  const failure = replicaFailure(sets);
  conditions =
    failure === undefined ? withoutCondition(conditions, 'ReplicaFailure') : withCondition(conditions, failure);
  return { ...status, conditions };
}

function withProgress(
  input: {
    readonly deployment: Deployment;
    readonly sets: SetsOfDeployment;
    readonly status: DeploymentStatus;
    readonly nowMs: number;
  },
  conditions: DeploymentCondition[],
): DeploymentCondition[] {
  const { deployment, sets, status, nowMs } = input;
  const subject =
    sets.newSet === undefined
      ? `Deployment "${deployment.metadata.name}"`
      : `ReplicaSet "${sets.newSet.metadata.name}"`;
  const type = 'Progressing';
  if (isComplete(deployment, status)) {
    return withCondition(
      conditions,
      condition(
        { type, status: 'True', reason: 'NewReplicaSetAvailable', message: `${subject} has successfully progressed.` },
        nowMs,
      ),
    );
  }
  if (hasProgressed(deployment.status ?? {}, status)) {
    const next = condition(
      { type, status: 'True', reason: 'ReplicaSetUpdated', message: `${subject} is progressing.` },
      nowMs,
    );
    const current = progressing(deployment.status);
    // Removed first, so that lastUpdateTime changes with every step.
    if (current?.status === 'True' && current.lastTransitionTime !== undefined)
      next.lastTransitionTime = current.lastTransitionTime;
    return [...withoutCondition(conditions, type), next];
  }
  if (hasTimedOut(deployment, status, nowMs)) {
    return withCondition(
      conditions,
      condition(
        { type, status: 'False', reason: 'ProgressDeadlineExceeded', message: `${subject} has timed out progressing.` },
        nowMs,
      ),
    );
  }
  return conditions;
}

function replicaFailure(sets: SetsOfDeployment): DeploymentCondition | undefined {
  const failureOf = (set: ReplicaSet | undefined) => set?.status?.conditions?.find((c) => c.type === 'ReplicaFailure');
  const replicaSetCondition = failureOf(sets.newSet) ?? sets.oldSets.map(failureOf).find((c) => c !== undefined);
  if (replicaSetCondition === undefined) return undefined;
  return {
    ...replicaSetCondition,
    ...(replicaSetCondition.lastTransitionTime === undefined
      ? {}
      : { lastUpdateTime: replicaSetCondition.lastTransitionTime }),
  };
}

/** Milliseconds until the progress deadline; undefined when there is none to check. */
export function deadlineCheckMs(deployment: Deployment, status: DeploymentStatus, nowMs: number): number | undefined {
  const current = progressing(status);
  if (!hasProgressDeadline(deployment) || current === undefined) return undefined;
  if (isComplete(deployment, status) || current.reason === 'ProgressDeadlineExceeded') return undefined;
  const leftMs = parseTime(current.lastUpdateTime) + (deployment.spec?.progressDeadlineSeconds ?? 0) * 1000 - nowMs;
  return Math.max(0, leftMs) + 1000;
}
