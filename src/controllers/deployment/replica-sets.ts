/** Which ReplicaSets of a Deployment are the new one and the old ones. Pure. Upstream: controller/deployment/util. */
import { isLargeValue } from '../../api/codec/parts.ts';
import { deepEqual, type Differing } from '../../base/equal.ts';
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
  const [{ labels: labelsOfA = {}, ...metadataOfA }, { labels: labelsOfB = {}, ...metadataOfB }] = [
    a?.metadata ?? {},
    b?.metadata ?? {},
  ];
  return (
    deepEqual(a?.spec, b?.spec, differing) &&
    equalButHash(labelsOfA, labelsOfB) &&
    deepEqual(metadataOfA, metadataOfB, differing)
  );
}

function equalButHash(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  if (differing.get(a) === b) return false;
  const namesOf = (labels: object): string[] => Object.keys(labels).filter((name) => name !== HASH_LABEL);
  const names = namesOf(a);
  const isEqual = names.length === namesOf(b).length && names.every((name) => a[name] === b[name]);
  if (!isEqual) differing.set(a, b);
  return isEqual;
}

/** Parts of sets' templates and the parts of deployments' templates from which they were found to differ. */
const differing: Differing = new WeakMap();

/** Templates of fewer characters are compared without a pause. */
const LARGE_TEMPLATE = 16_384;

/** Compares large templates in turns, so that later comparisons of these objects find the results. */
export async function compareTemplates(
  { spec }: Deployment,
  sets: readonly ReplicaSet[],
  pause: () => Promise<void>,
): Promise<void> {
  if (sets.length < 2 || !isLargeValue(spec?.template, LARGE_TEMPLATE)) return;
  for (const set of sets) {
    equalIgnoringHash(set.spec?.template, spec?.template);
    await pause();
  }
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
