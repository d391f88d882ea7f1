/** Which ReplicaSets of a Deployment are the new one and the old ones. Pure. Upstream: controller/deployment/util. */
import { deepEqual } from '../../base/equal.ts';
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { PodTemplateSpec } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { compareAge, replicasOf } from './replica-math.ts';

/** The label that distinguishes the pods of different templates. */
export const HASH_LABEL = 'pod-template-hash';

/** The ReplicaSets of one Deployment. */
export interface SetsOfDeployment {
  readonly newSet: Stored<ReplicaSet> | undefined;
  readonly oldSets: readonly Stored<ReplicaSet>[];
}

/** All sets, the new one included. */
export function allOf(sets: SetsOfDeployment): Stored<ReplicaSet>[] {
  return sets.newSet === undefined ? [...sets.oldSets] : [...sets.oldSets, sets.newSet];
}

/** Whether two templates are equal apart from the hash label. */
export function equalIgnoringHash(a: PodTemplateSpec | undefined, b: PodTemplateSpec | undefined): boolean {
  return deepEqual(withoutHash(a), withoutHash(b));
}

function withoutHash(template: PodTemplateSpec | undefined): PodTemplateSpec {
  const { labels = {}, ...metadata } = template?.metadata ?? {};
  const { [HASH_LABEL]: _, ...rest } = labels;
  return { ...template, metadata: { ...metadata, labels: rest } };
}

/** Splits sets by the Deployment's template; of several equal ones the oldest is the new set. */
export function splitSets(deployment: Deployment, sets: readonly Stored<ReplicaSet>[]): SetsOfDeployment {
  const ordered = [...sets].sort(compareAge);
  const newSet = ordered.find((set) => equalIgnoringHash(set.spec?.template, deployment.spec?.template));
  return { newSet, oldSets: ordered.filter((set) => set !== newSet) };
}

/** Sets with desired replicas. */
export function activeSets(sets: readonly Stored<ReplicaSet>[]): Stored<ReplicaSet>[] {
  return sets.filter((set) => replicasOf(set) > 0);
}

/** The only active set, or without any the new or newest one; undefined when several are active. */
export function activeOrLatest({ newSet, oldSets }: SetsOfDeployment): Stored<ReplicaSet> | undefined {
  const active = activeSets(allOf({ newSet, oldSets }));
  if (active.length > 1) return undefined;
  return active[0] ?? newSet ?? [...oldSets].sort(compareAge).at(-1);
}
