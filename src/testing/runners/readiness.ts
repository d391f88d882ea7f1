/** Whether an object is ready, by its kind's status fields and its conditions. */
import type { KubernetesObject } from '../../api/object.ts';

/** The status fields that readiness depends on. */
interface Readable extends KubernetesObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly phase?: string;
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
    readonly desiredNumberScheduled?: number;
    readonly numberReady?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** The status of a condition; undefined when it is absent, or does not describe the last change. */
export function conditionOf(object: KubernetesObject, type: string): string | undefined {
  const { status } = object as Readable;
  if (status?.observedGeneration !== undefined && status.observedGeneration < (object.metadata.generation ?? 0))
    return undefined;
  return status?.conditions?.find((condition) => condition.type === type)?.status;
}

/** Ready: all desired replicas are current and ready; a claim is bound; a job is complete; for other kinds by conditions. */
export function isReady(object: KubernetesObject): boolean {
  const { kind, spec, status, metadata } = object as Readable;
  if ((status?.observedGeneration ?? Infinity) < (metadata.generation ?? 0)) return false;
  switch (kind) {
    case 'Deployment':
    case 'StatefulSet':
      return allReady(spec?.replicas, status?.readyReplicas) && allReady(spec?.replicas, status?.updatedReplicas);
    case 'ReplicaSet':
    case 'ReplicationController':
      return allReady(spec?.replicas, status?.readyReplicas);
    case 'DaemonSet':
      return status?.desiredNumberScheduled !== undefined && status.numberReady === status.desiredNumberScheduled;
    case 'Job':
      return conditionOf(object, 'Complete') === 'True';
    case 'PersistentVolumeClaim':
      return status?.phase === 'Bound';
    default:
      return ['Ready', 'Available', 'Established'].some((type) => conditionOf(object, type) === 'True');
  }
}

function allReady(wanted: number = 1, ready: number = 0): boolean {
  return ready === wanted;
}
