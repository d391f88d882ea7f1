/** Explains why a stateful set lacks pods, which are created one at a time in the order of their ordinals. */
import { Pods, StatefulSets } from '../../api/gen/resources.ts';
import type { StatefulSet } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { onDeleteCause } from './on-delete.ts';
import { ownedPods } from './owned-pods.ts';
import { refusedPodCauses } from './refused-pods.ts';

/** The number of pods that are listed; the others usually have the same cause. */
const MAX_NAMED = 3;

export async function explainStatefulSet(set: StatefulSet, evidence: Evidence): Promise<Diagnosis> {
  const wanted = set.spec?.replicas ?? 1;
  const { readyReplicas = 0, updatedReplicas = 0 } = set.status ?? {};
  const partition = set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0;
  const isOnDelete = set.spec?.updateStrategy?.type === 'OnDelete';
  const summary = `has ${readyReplicas} of ${wanted} pods ready, ${updatedReplicas} of the newest template`;
  const isUpdated = updatedReplicas >= wanted - partition || isOnDelete || set.status?.updateRevision === undefined;
  const isRemoved = (set.status?.replicas ?? 0) <= wanted;
  if (readyReplicas >= wanted && isUpdated && isRemoved) return { state: 'Fine', summary, causes: heldBackCauses(set) };
  const pods = await ownedPods(set, set.spec?.selector, evidence);
  const causes = [
    ...(await refusedPodCauses(StatefulSets, set, evidence)),
    ...(await firstUnreadyCauses(set, pods, evidence)),
    ...(isRemoved ? [] : await remainingPodCauses(set, pods, evidence)),
  ];
  return { state: causes.length === 0 ? 'Progressing' : 'Trouble', summary, causes };
}

/** Settings that keep pods of an older template on purpose. */
function heldBackCauses(set: StatefulSet): readonly Cause[] {
  const wanted = set.spec?.replicas ?? 1;
  const { updateStrategy } = set.spec ?? {};
  const { updatedReplicas = 0, updateRevision, currentRevision } = set.status ?? {};
  if (updateRevision === currentRevision || updatedReplicas >= wanted) return [];
  const object = nameOfObject(StatefulSets, set);
  if (updateStrategy?.type === 'OnDelete') return [onDeleteCause(object)];
  const partition = updateStrategy?.rollingUpdate?.partition ?? 0;
  const message = `pods below ordinal ${partition}, its partition, keep the older template`;
  const cure = { text: 'lower spec.updateStrategy.rollingUpdate.partition to go on' };
  return [cause({ code: 'HeldByPartition', object, message, cure })];
}

/** The pod with the lowest ordinal that is not ready: later ones wait for it, unless the policy is Parallel. */
async function firstUnreadyCauses(
  set: StatefulSet,
  pods: readonly Pod[],
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const blocking = pods.filter((pod) => !isPodReady(pod)).toSorted((a, b) => ordinalOf(a) - ordinalOf(b))[0];
  if (blocking === undefined) return [];
  const { summary, causes: because, state } = await evidence.explain(Pods, blocking);
  if (state === 'Progressing') return [];
  const object = nameOfObject(Pods, blocking);
  const isOrdered = set.spec?.podManagementPolicy !== 'Parallel';
  const missing = (set.spec?.replicas ?? 1) - pods.length;
  const waiting = isOrdered && missing > 0 ? [`${missing} pods are created only when it is ready`] : [];
  return [
    cause({
      code: isOrdered ? 'WaitsForOrdinal' : 'PodNotReady',
      object,
      message: `pod ${object.name} ${summary}`,
      facts: waiting,
      because,
    }),
  ];
}

/** Pods beyond `replicas` that are being deleted and still exist. */
async function remainingPodCauses(
  { spec }: StatefulSet,
  pods: readonly Pod[],
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const end = (spec?.ordinals?.start ?? 0) + (spec?.replicas ?? 1);
  const going = pods.filter((pod) => ordinalOf(pod) >= end && pod.metadata.deletionTimestamp !== undefined);
  const causes: Cause[] = [];
  for (const pod of going.slice(0, MAX_NAMED)) {
    const { state, summary, causes: because } = await evidence.explain(Pods, pod);
    if (state === 'Progressing') continue;
    const object = nameOfObject(Pods, pod);
    causes.push(cause({ code: 'PodRemains', object, message: `pod ${object.name} ${summary}`, because }));
  }
  return causes;
}

function ordinalOf({ metadata }: Pod): number {
  return Number(/-(\d+)$/.exec(metadata.name ?? '')?.[1] ?? 0);
}
