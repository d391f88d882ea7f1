/** Known finalizers with what their controllers wait for, one row for each. */
import { PersistentVolumeClaims, Pods } from '../api/gen/resources.ts';
import type { PersistentVolume, Pod } from '../api/gen/core-v1.ts';
import type { CustomResourceDefinition } from '../api/gen/apiextensions-v1.ts';
import type { ResourceClaim } from '../api/gen/resource-v1.ts';
import type { KubernetesObject } from '../api/object.ts';
import { appendAll } from '../base/lists.ts';
import { claimsOfVolumes } from './pods/claims.ts';
import type { Evidence } from './evidence.ts';
import { cause, type Cause } from './explanation.ts';
import { inNamespace, nameOfObject } from './object-name.ts';
import { remainingObjects } from './remaining-objects.ts';

export interface KnownFinalizer {
  /** The remedy in words. */
  readonly text: string;
  readonly causesBehind?: (object: KubernetesObject, evidence: Evidence) => Promise<readonly Cause[]>;
}

/** The number of objects that are listed; the others usually have the same cause. */
const MAX_NAMED = 5;

export const knownFinalizers: Readonly<Record<string, KnownFinalizer>> = {
  'kubernetes.io/pvc-protection': { text: 'end the pods that use the claim', causesBehind: usersOfClaim },
  'kubernetes.io/pv-protection': { text: 'delete the claim that is bound to the volume', causesBehind: claimOfVolume },
  'kubernetes.io/vac-protection': { text: 'change the claims and volumes that use the class' },
  'resource.kubernetes.io/delete-protection': {
    text: 'end the pods for which the devices are reserved',
    causesBehind: usersOfDevices,
  },
  'customresourcecleanup.apiextensions.k8s.io': {
    text: 'see what keeps the objects of the definition',
    causesBehind: objectsOfDefinition,
  },
  foregroundDeletion: { text: 'see what keeps its dependents', causesBehind: dependents },
  orphan: { text: 'see whether the garbage collector of the controller manager runs' },
  'batch.kubernetes.io/job-tracking': { text: 'see whether the job controller of the controller manager runs' },
  'service.kubernetes.io/load-balancer-cleanup': {
    text: 'see whether the controller that made the load balancer runs, and read its log',
  },
  'external-provisioner.volume.kubernetes.io/finalizer': {
    text: 'see whether the provisioner of the volume runs, and read its log',
  },
};

async function usersOfClaim({ metadata }: KubernetesObject, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace = '', name } = metadata;
  const pods = await evidence.list(Pods, { namespace });
  // As in the controller, a pod without a node does not use the claim yet.
  const users = pods.filter(
    (pod) =>
      (pod.spec?.nodeName ?? '') !== '' &&
      claimsOfVolumes(pod, pod.spec?.volumes ?? []).some((claim) => claim.name === name),
  );
  const causes: Cause[] = [];
  for (const pod of users.slice(0, MAX_NAMED)) causes.push(await userCause(pod, `claim ${name}`, evidence));
  return causes;
}

async function usersOfDevices(object: KubernetesObject, evidence: Evidence): Promise<readonly Cause[]> {
  const { metadata, status } = object as ResourceClaim;
  const { namespace = '', name } = metadata;
  const causes: Cause[] = [];
  for (const { resource, name: podName } of (status?.reservedFor ?? []).slice(0, MAX_NAMED)) {
    if (resource !== 'pods') continue;
    const { object: pod } = await evidence.get(Pods, { namespace, name: podName });
    if (pod !== undefined) causes.push(await userCause(pod, `resource claim ${name}`, evidence));
  }
  return causes;
}

async function userCause(pod: Pod, used: string, evidence: Evidence): Promise<Cause> {
  const object = nameOfObject(Pods, pod);
  const isGoing = pod.metadata.deletionTimestamp !== undefined;
  return cause({
    code: 'UsedByPod',
    object,
    message: `pod ${object.name} uses ${used}${isGoing ? ' and is being deleted' : ''}`,
    cure: {
      text: `end pod ${object.name}, and what would create it anew`,
      command: `kubectl delete pod ${object.name}${inNamespace(object)}`,
    },
    because: isGoing ? await evidence.causesOf(Pods, pod) : [],
  });
}

async function claimOfVolume(object: KubernetesObject, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace, name } = (object as PersistentVolume).spec?.claimRef ?? {};
  if (namespace === undefined || name === undefined) return [];
  const { object: claim } = await evidence.get(PersistentVolumeClaims, { namespace, name });
  if (claim === undefined || claim.spec?.volumeName !== object.metadata.name) return [];
  const at = nameOfObject(PersistentVolumeClaims, claim);
  const isGoing = claim.metadata.deletionTimestamp !== undefined;
  return [
    cause({
      code: 'BoundToClaim',
      object: at,
      message: `claim ${namespace}/${name} is bound to it${isGoing ? ' and is being deleted' : ''}`,
      cure: { text: 'delete the claim', command: `kubectl delete pvc ${name}${inNamespace(at)}` },
      because: isGoing ? await evidence.causesOf(PersistentVolumeClaims, claim) : [],
    }),
  ];
}

async function objectsOfDefinition(object: KubernetesObject, evidence: Evidence): Promise<readonly Cause[]> {
  const { group, names } = (object as CustomResourceDefinition).spec ?? {};
  const info = (await evidence.served()).find((one) => one.group === group && one.resource === names?.plural);
  if (info === undefined) return [];
  const objects = await evidence.list(info, { metadataOnly: true });
  return remainingObjects(info, objects.slice(0, MAX_NAMED), evidence);
}

/** The objects that the garbage collector waits for: dependents in the namespace that block the owner's deletion. */
async function dependents({ metadata }: KubernetesObject, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace, uid } = metadata;
  if (namespace === undefined) return [];
  const causes: Cause[] = [];
  for (const info of await evidence.served()) {
    if (!info.namespaced || !info.verbs.includes('list') || !info.verbs.includes('delete')) continue;
    const objects = (await evidence.list(info, { namespace, metadataOnly: true })).filter((one) =>
      one.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
    );
    appendAll(causes, await remainingObjects(info, objects.slice(0, MAX_NAMED - causes.length), evidence));
    if (causes.length >= MAX_NAMED) break;
  }
  return causes;
}
