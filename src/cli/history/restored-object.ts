/** The object that is sent to restore an earlier state. Pure. */
import type { ObjectMeta, OwnerReference } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';

type LooseObject = KubernetesObject & { spec?: Record<string, unknown>; status?: unknown };

/**
 * The past state over the present object: labels, annotations and all fields but status. Owners and finalizers stay as they
 * are now, since they belong to the controllers of the object.
 */
export function overPresent(past: KubernetesObject, present: KubernetesObject): KubernetesObject {
  const object: LooseObject = { ...past, metadata: { ...present.metadata } };
  const { status } = present as LooseObject;
  if (status === undefined) delete object.status;
  else object.status = status;
  copyTexts(past.metadata, object.metadata);
  return object;
}

/** Labels and annotations, or their absence. */
function copyTexts(from: ObjectMeta, to: ObjectMeta): void {
  for (const field of ['labels', 'annotations'] as const) {
    const texts = from[field];
    if (texts === undefined) delete to[field];
    else to[field] = texts;
  }
}

/** The past state as a new object, with those of its owners that still exist. */
export function asNew(past: KubernetesObject, owners: readonly OwnerReference[]): KubernetesObject {
  const { status: _, ...object } = structuredClone(past) as LooseObject;
  const { name, namespace } = past.metadata;
  object.metadata = { name: name ?? '' };
  if (namespace !== undefined) object.metadata.namespace = namespace;
  if (owners.length > 0) object.metadata.ownerReferences = [...owners];
  copyTexts(structuredClone(past.metadata), object.metadata);
  if (object.apiVersion === 'v1' && object.kind === 'Pod') delete object.spec?.['nodeName'];
  if (object.apiVersion === 'batch/v1' && object.kind === 'Job') forgetJobIdentity(object);
  return object;
}

/** Removes the selector and labels that the server derives from a job's uid. */
function forgetJobIdentity({ spec, metadata }: LooseObject): void {
  if (spec === undefined || spec['manualSelector'] === true) return;
  delete spec['selector'];
  const template = spec['template'] as { metadata?: { labels?: Record<string, string> } } | undefined;
  for (const labels of [metadata.labels, template?.metadata?.labels])
    for (const name of ['controller-uid', 'batch.kubernetes.io/controller-uid']) delete labels?.[name];
}
