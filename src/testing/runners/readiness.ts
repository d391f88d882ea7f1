/** Whether an object is ready, by what its kind says of itself; and its conditions. */
import type { KubernetesObject } from '../../api/object.ts';

/** What kinds say about themselves, as far as readiness goes. */
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

/** The status of a condition; undefined where it is not there, or says nothing of the last change. */
export function conditionOf(object: KubernetesObject, type: string): string | undefined {
  const { status } = object as Readable;
  if (status?.observedGeneration !== undefined && status.observedGeneration < (object.metadata.generation ?? 0))
    return undefined;
  return status?.conditions?.find((condition) => condition.type === type)?.status;
}

/** Replicas there are to be, of which none is old or not ready; a claim that is bound; a job that is done; else by conditions. */
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
