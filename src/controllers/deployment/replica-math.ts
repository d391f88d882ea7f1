/** Numbers of a rollout: surge, availability, sums. Pure. Upstream: controller/deployment/util. */
import { scaledValue } from '../../api/int-or-string.ts';
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { Stored } from '../../api/object.ts';
import { DESIRED_REPLICAS, MAX_REPLICAS } from './annotations.ts';

/** Desired replicas of a Deployment or ReplicaSet (default 1). */
export function replicasOf(object: { readonly spec?: { readonly replicas?: number } }): number {
  return object.spec?.replicas ?? 1;
}

/** Whether the strategy is RollingUpdate (the default). */
export function isRolling(deployment: Deployment): boolean {
  return (deployment.spec?.strategy?.type ?? 'RollingUpdate') === 'RollingUpdate';
}

function fenceposts(deployment: Deployment): { surge: number; unavailable: number } {
  const desired = replicasOf(deployment);
  const rolling = deployment.spec?.strategy?.rollingUpdate;
  const surge = scaledValue(rolling?.maxSurge ?? '25%', desired, true);
  const unavailable = scaledValue(rolling?.maxUnavailable ?? '25%', desired, false);
  // With both rounded to zero the rollout would never make progress.
  return surge === 0 && unavailable === 0 ? { surge: 0, unavailable: 1 } : { surge, unavailable };
}

/** The most pods above the desired number during a rollout. */
export function maxSurge(deployment: Deployment): number {
  return isRolling(deployment) ? fenceposts(deployment).surge : 0;
}

/** The most pods that may be unavailable during a rollout. */
export function maxUnavailable(deployment: Deployment): number {
  if (!isRolling(deployment) || replicasOf(deployment) === 0) return 0;
  return Math.min(fenceposts(deployment).unavailable, replicasOf(deployment));
}

/** The sum of the desired replicas. */
export function specReplicas(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, set) => sum + replicasOf(set), 0);
}

/** Sum of a number in the status. */
export function statusSum(
  sets: readonly ReplicaSet[],
  field: 'replicas' | 'readyReplicas' | 'availableReplicas',
): number {
  return sets.reduce((sum, set) => sum + (set.status?.[field] ?? 0), 0);
}

/** The number of replicas that the new ReplicaSet may have now, within maxSurge. */
export function newSetReplicas(deployment: Deployment, all: readonly ReplicaSet[], newSet: ReplicaSet): number {
  const desired = replicasOf(deployment);
  if (!isRolling(deployment)) return desired;
  const room = desired + maxSurge(deployment) - specReplicas(all);
  const current = replicasOf(newSet);
  return room <= 0 ? current : current + Math.min(room, desired - current);
}

function annotationNumber(set: ReplicaSet, name: string): number | undefined {
  const text = set.metadata.annotations?.[name];
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}

/** The Deployment's size when this set was last scaled. */
export function desiredAnnotation(set: ReplicaSet): number | undefined {
  return annotationNumber(set, DESIRED_REPLICAS);
}

/** Whether the new set alone runs all replicas and all are available. */
export function isSaturated(deployment: Deployment, set: ReplicaSet | undefined): boolean {
  if (set === undefined) return false;
  const desired = replicasOf(deployment);
  return (
    replicasOf(set) === desired &&
    desiredAnnotation(set) === desired &&
    (set.status?.availableReplicas ?? 0) === desired
  );
}

/**
 * New sizes of the active sets when a Deployment is scaled during a rollout: each grows or shrinks in proportion to
 * its size; the rounding remainder goes to the first (largest) one.
 */
export function proportionalSizes(
  deployment: Deployment,
  active: readonly Stored<ReplicaSet>[],
): Map<Stored<ReplicaSet>, number> {
  const desired = replicasOf(deployment);
  const allowed = desired > 0 ? desired + maxSurge(deployment) : 0;
  const toAdd = allowed - specReplicas(active);
  const sizes = new Map<Stored<ReplicaSet>, number>();
  let added = 0;
  const ordered = [...active].sort((a, b) => replicasOf(b) - replicasOf(a) || compareAge(a, b) * (toAdd > 0 ? -1 : 1));
  for (const set of ordered) {
    const share = toAdd === 0 ? 0 : proportion(deployment, set, { toAdd, added });
    sizes.set(set, replicasOf(set) + share);
    added += share;
  }
  const [first] = ordered;
  if (first !== undefined && toAdd !== 0) sizes.set(first, Math.max(0, (sizes.get(first) ?? 0) + toAdd - added));
  return sizes;
}

function proportion(
  deployment: Deployment,
  set: ReplicaSet,
  room: { readonly toAdd: number; readonly added: number },
): number {
  if (replicasOf(set) === 0 || room.toAdd === room.added) return 0;
  const share = replicaSetFraction(deployment, set);
  const allowed = room.toAdd - room.added;
  return room.toAdd > 0 ? Math.min(share, allowed) : Math.max(share, allowed);
}

function replicaSetFraction(deployment: Deployment, set: ReplicaSet): number {
  const size = replicasOf(set);
  if (replicasOf(deployment) === 0) return -size;
  const before = annotationNumber(set, MAX_REPLICAS) ?? deployment.status?.replicas ?? 0;
  if (before === 0) return 0;
  return Math.round((size * (replicasOf(deployment) + maxSurge(deployment))) / before) - size;
}

/** Negative when `a` is older. Names decide between equal times. */
export function compareAge(a: Stored<ReplicaSet>, b: Stored<ReplicaSet>): number {
  const [at = '', bt = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (at !== bt) return at < bt ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
