/** To which workloads a pod belongs: its controller, and the controller of that one. */
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import { Jobs, ReplicaSets } from '../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { Subject } from './measures.ts';

export interface Workload extends Subject {
  readonly uid: string;
}

/** The kinds that have charts, by version and kind as in an owner reference. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['apps/v1 Deployment', 'deployments.apps'],
  ['apps/v1 ReplicaSet', 'replicasets.apps'],
  ['apps/v1 StatefulSet', 'statefulsets.apps'],
  ['apps/v1 DaemonSet', 'daemonsets.apps'],
  ['batch/v1 Job', 'jobs.batch'],
  ['batch/v1 CronJob', 'cronjobs.batch'],
  ['v1 ReplicationController', 'replicationcontrollers'],
]);

export const workloadKinds: ReadonlySet<string> = new Set(KINDS.values());

export function workloadsOf(
  objects: ObjectStore,
  pod: Stored<KubernetesObject>,
  namespace: string,
): readonly Workload[] {
  const workloads: Workload[] = [];
  for (let owner = controllerOf(pod); owner !== undefined && workloads.length < 2;) {
    const kind = KINDS.get(`${owner.apiVersion} ${owner.kind}`);
    if (kind === undefined) break;
    workloads.push({ kind, namespace, name: owner.name, uid: owner.uid });
    owner = controllerOfOwner(objects, owner, namespace);
  }
  return workloads;
}

function controllerOfOwner(
  objects: ObjectStore,
  { kind, name, uid }: OwnerReference,
  namespace: string,
): OwnerReference | undefined {
  const info = kind === 'ReplicaSet' ? ReplicaSets : kind === 'Job' ? Jobs : undefined;
  const object = info && objects.get<KubernetesObject>(info, namespace, name);
  return object?.metadata.uid === uid ? controllerOf(object) : undefined;
}
