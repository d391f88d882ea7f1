/** The status of a StatefulSet. Pure. Upstream: stateful_set_control.go updateStatus, completeRollingUpdate. */
import type { StatefulSetStatus } from '../../api/gen/apps-v1.ts';
import { isPodAvailable } from '../../component-helpers/pods.ts';
import { isRunningAndReady, revisionOf } from './identity.ts';
import type { StatefulView } from './plan.ts';

/** Counts pods; after a completed update its revision becomes the current one. */
export function calculateStatus(view: StatefulView, collisionCount: number): StatefulSetStatus {
  const { set, currentRevision, updateRevision, nowMs } = view;
  const created = view.pods.filter((pod) => (pod.status?.phase ?? '') !== '');
  const ready = created.filter(isRunningAndReady);
  const ofRevision = (name: string): number =>
    created.filter((pod) => pod.metadata.deletionTimestamp === undefined && revisionOf(pod) === name).length;
  const status: StatefulSetStatus = {
    ...set.status,
    replicas: created.length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter((pod) => isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs)).length,
    currentReplicas: ofRevision(currentRevision),
    updatedReplicas: ofRevision(updateRevision),
    currentRevision,
    updateRevision,
    observedGeneration: set.metadata.generation ?? 0,
    collisionCount,
  };
  const wanted = set.spec?.replicas ?? 1;
  const updated = status.updatedReplicas === wanted && status.readyReplicas === wanted && status.replicas === wanted;
  if (set.spec?.updateStrategy?.type !== 'RollingUpdate' || !updated) return status;
  return { ...status, currentReplicas: wanted, currentRevision: updateRevision };
}
