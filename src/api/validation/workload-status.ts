/**
 * Validation of workloads' statuses: counts are not negative and are consistent. Upstream: apis/apps/validation,
 * apis/core/validation.
 */
import type { Field } from '../field-error.ts';
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '../gen/apps-v1.ts';
import type { ReplicationController } from '../gen/core-v1.ts';
import type { Int64 } from '../int64.ts';
import { validateNonnegative } from './common.ts';

type Counts = Readonly<Partial<Record<string, Int64>>>;

function validateCounts(counts: Counts, names: readonly string[], field: Field): void {
  for (const name of names) validateNonnegative(counts[name], field.at(name));
}

/** None of these counts may exceed the number of replicas. */
function validateParts(counts: Counts, names: readonly string[], field: Field): void {
  for (const name of names) {
    const count = counts[name] ?? 0;
    if (count > (counts['replicas'] ?? 0)) field.at(name).invalid(count, 'cannot be greater than status.replicas');
  }
}

function validateAvailable({ availableReplicas = 0, readyReplicas = 0 }: Counts, ready: string, field: Field): void {
  if (availableReplicas > readyReplicas)
    field.at('availableReplicas').invalid(availableReplicas, `cannot be greater than ${ready}`);
}

/** The collision count must not decrease. */
function validateCollisions(now: Counts, { collisionCount: before }: Counts, field: Field): void {
  const count = now['collisionCount'] ?? 0;
  if (before !== undefined && (now['collisionCount'] === undefined || count < before))
    field.at('collisionCount').invalid(count, 'cannot be decremented');
}

/** The status as a map of counts; the checks read only numbers. */
function countsOf({ status = {} }: { readonly status?: object }): Counts {
  return status as Counts;
}

const DEPLOYMENT_COUNTS = ['observedGeneration', 'replicas', 'updatedReplicas', 'readyReplicas', 'availableReplicas'];

export function validateDeploymentStatus(deployment: Deployment, old: Deployment, field: Field): void {
  const counts = countsOf(deployment);
  const place = field.at('status');
  const names = [...DEPLOYMENT_COUNTS, 'unavailableReplicas', 'terminatingReplicas', 'collisionCount'];
  validateCounts(counts, names, place);
  validateParts(counts, ['updatedReplicas', 'readyReplicas', 'availableReplicas'], place);
  validateAvailable(counts, 'readyReplicas', place);
  validateCollisions(counts, countsOf(old), place);
}

const REPLICA_COUNTS = ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'];

/** Validates the status of replica sets and replication controllers. */
export function validateReplicaSetStatus(
  replicaSet: ReplicaSet | ReplicationController,
  _old: unknown,
  field: Field,
): void {
  const counts = countsOf(replicaSet);
  const place = field.at('status');
  validateCounts(counts, [...REPLICA_COUNTS, 'observedGeneration', 'terminatingReplicas'], place);
  validateParts(counts, ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'], place);
  validateAvailable(counts, 'readyReplicas', place);
}

export function validateStatefulSetStatus(statefulSet: StatefulSet, old: StatefulSet, field: Field): void {
  const counts = countsOf(statefulSet);
  const place = field.at('status');
  const parts = ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'];
  validateCounts(counts, ['replicas', ...parts, 'observedGeneration', 'collisionCount'], place);
  validateParts(counts, parts, place);
  validateAvailable(counts, 'status.readyReplicas', place);
  validateCollisions(counts, countsOf(old), place);
}

const DAEMON_COUNTS = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
  'collisionCount',
];

export function validateDaemonSetStatus(daemonSet: DaemonSet, old: DaemonSet, field: Field): void {
  const counts = countsOf(daemonSet);
  validateCounts(counts, DAEMON_COUNTS, field.at('status'));
  validateCollisions(counts, countsOf(old), field.at('status'));
}
