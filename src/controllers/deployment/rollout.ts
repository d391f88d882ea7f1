/**
 * One step of a rollout (RollingUpdate or Recreate), and scaling. Upstream: controller/deployment rolling, recreate
 * and sync.scale.
 */
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { Stored } from '../../api/object.ts';
import { compareRevisions } from './annotations.ts';
import type { DeploymentWriter } from './deployment-writer.ts';
import type { Rollout } from './new-replica-set.ts';
import {
  isRolling,
  isSaturated,
  maxUnavailable,
  newSetReplicas,
  proportionalSizes,
  replicasOf,
  specReplicas,
} from './replica-math.ts';
import { activeOrLatest, activeSets, allOf } from './replica-sets.ts';

/** Takes the next step of a rolling update. True when something was scaled: the next step waits for its effects. */
export async function rollOnce(writer: DeploymentWriter, rollout: Rollout): Promise<boolean> {
  const { deployment } = rollout;
  const newSet = rollout.newSet as Stored<ReplicaSet>;
  const target =
    replicasOf(newSet) > replicasOf(deployment)
      ? replicasOf(deployment)
      : newSetReplicas(deployment, allOf(rollout), newSet);
  if (target !== replicasOf(newSet)) {
    await writer.scale(deployment, newSet, target);
    return true;
  }
  const plan = planScaleDown(rollout);
  for (const [set, replicas] of plan) await writer.scale(deployment, set, replicas);
  return plan.size > 0;
}

/**
 * New sizes of old sets: unhealthy pods are removed first, then as many healthy ones as maxUnavailable allows. Pure.
 * Upstream: cleanupUnhealthyReplicas, scaleDownOldReplicaSetsForRollingUpdate.
 */
function planScaleDown(rollout: Rollout): Map<Stored<ReplicaSet>, number> {
  const { deployment, oldSets } = rollout;
  const newSet = rollout.newSet as Stored<ReplicaSet>;
  const sizes = new Map<Stored<ReplicaSet>, number>();
  if (specReplicas(oldSets) === 0) return sizes;
  const minAvailable = replicasOf(deployment) - maxUnavailable(deployment);
  const newUnavailable = replicasOf(newSet) - (newSet.status?.availableReplicas ?? 0);
  const budget = specReplicas(allOf(rollout)) - minAvailable - newUnavailable;
  if (budget <= 0) return sizes;
  let cleaned = 0;
  for (const set of oldSets) {
    const unhealthy = replicasOf(set) - (set.status?.availableReplicas ?? 0);
    const count = Math.min(budget - cleaned, unhealthy);
    if (replicasOf(set) === 0 || count <= 0) continue;
    sizes.set(set, replicasOf(set) - count);
    cleaned += count;
  }
  // A set that was just scaled down still reports the pods it is losing: they must not count as available. Upstream
  // counts them.
  const lasting = (set: Stored<ReplicaSet>): number =>
    Math.min(set.status?.availableReplicas ?? 0, sizes.get(set) ?? replicasOf(set));
  let healthy = allOf(rollout).reduce((sum, set) => sum + lasting(set), 0) - minAvailable;
  for (const set of oldSets) {
    const size = sizes.get(set) ?? replicasOf(set);
    const count = Math.min(size, healthy);
    if (count <= 0) continue;
    sizes.set(set, size - count);
    healthy -= count;
  }
  return sizes;
}

/** Scales all sets to zero. True when there was something to scale. */
export async function scaleToZero(
  writer: DeploymentWriter,
  deployment: Stored<Deployment>,
  sets: readonly Stored<ReplicaSet>[],
): Promise<boolean> {
  const active = activeSets(sets);
  for (const set of active) await writer.scale(deployment, set, 0);
  return active.length > 0;
}

/** Scales the sets to the Deployment's size without a rollout step. */
export async function scaleOnly(writer: DeploymentWriter, rollout: Rollout): Promise<void> {
  const { deployment } = rollout;
  const only = activeOrLatest(rollout);
  if (only !== undefined) {
    if (replicasOf(only) !== replicasOf(deployment)) await writer.scale(deployment, only, replicasOf(deployment));
    return;
  }
  if (isSaturated(deployment, rollout.newSet)) {
    await scaleToZero(writer, deployment, rollout.oldSets);
    return;
  }
  if (!isRolling(deployment)) return;
  for (const [set, size] of proportionalSizes(deployment, activeSets(allOf(rollout))))
    await writer.scale(deployment, set, size);
}

/** Deletes old sets beyond the history limit, lowest revision first, if they are empty and observed. */
export async function cleanUpHistory(writer: DeploymentWriter, rollout: Rollout): Promise<void> {
  const limit = rollout.deployment.spec?.revisionHistoryLimit;
  if (limit === undefined) return;
  const alive = rollout.oldSets.filter((set) => set.metadata.deletionTimestamp === undefined);
  const surplus = [...alive].sort(compareRevisions).slice(0, Math.max(0, alive.length - limit));
  for (const set of surplus) {
    const settled = (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0);
    if (replicasOf(set) === 0 && (set.status?.replicas ?? 0) === 0 && settled) await writer.deleteSet(set);
  }
}
