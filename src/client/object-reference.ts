/** References to objects, as events and endpoints carry them. Upstream: client-go tools/reference. */
import type { ObjectReference } from '../api/gen/core-v1.ts';
import type { KubernetesObject } from '../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../api/resource-info.ts';
import type { EventTarget } from './event-recorder.ts';

/** A full reference to an object; kind and version come from `info` when the object lacks them. */
function referenceTo(object: KubernetesObject, info?: ResourceInfo): ObjectReference {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  const kind = object.kind ?? info?.kind;
  const apiVersion = object.apiVersion ?? (info === undefined ? undefined : apiVersionOf(info));
  return dropUndefined({ kind, namespace, name, uid, apiVersion, resourceVersion });
}

/** The reference an event target stands for. */
export function referenceOfTarget(target: KubernetesObject | EventTarget): ObjectReference {
  if ('metadata' in target) return referenceTo(target);
  const { kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath } = target as EventTarget;
  return dropUndefined({ kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath });
}

function dropUndefined(reference: { [K in keyof ObjectReference]: ObjectReference[K] | undefined }): ObjectReference {
  const result: ObjectReference = {};
  for (const name in reference) {
    const value = reference[name as keyof ObjectReference];
    if (value !== undefined) result[name as keyof ObjectReference] = value;
  }
  return result;
}
