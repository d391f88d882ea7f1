/** Owner references: who controls an object. Upstream: metav1 controller_ref. */
import type { OwnerReference } from '../api/gen/meta-v1.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../api/resource-info.ts';

/** The reference of the managing controller, if there is one. */
export function controllerOf(object: KubernetesObject): OwnerReference | undefined {
  const references = object.metadata.ownerReferences;
  // A loop: controllers ask this of thousands of pods at every step.
  if (references !== undefined) for (const reference of references) if (reference.controller === true) return reference;
  return undefined;
}

/** Whether `owner` (by uid) is the managing controller of `object`. */
export function isControlledBy(object: KubernetesObject, owner: KubernetesObject): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid;
}

/** The reference that makes `owner` the managing controller. */
export function newControllerReference(owner: Stored<KubernetesObject>, info: ResourceInfo): OwnerReference {
  return {
    apiVersion: apiVersionOf(info),
    kind: info.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}
