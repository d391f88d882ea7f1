/** Finalizers that hold a deleted object, and who set them. */
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { cause, type Cause } from './explanation.ts';
import { inNamespace, nameOfObject } from './object-name.ts';

/** A cause for each finalizer of an object that is being deleted. */
export function finalizerCauses(info: ResourceInfo, object: KubernetesObject): readonly Cause[] {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined) return [];
  const name = nameOfObject(info, object);
  return finalizers.map((finalizer) => {
    const manager = managerOf(object, finalizer);
    return cause({
      code: 'Finalizer',
      object: name,
      message: `finalizer ${finalizer}${manager === undefined ? '' : `, set by ${manager},`} has not been removed`,
      since: deletionTimestamp,
      cure: {
        text: `see why the controller behind ${finalizer} does not finish; only if it will never run again, remove the finalizer`,
        command: `kubectl edit ${name.kind} ${name.name}${inNamespace(name)}`,
      },
    });
  });
}

/** The field manager that owns a finalizer. */
function managerOf({ metadata }: KubernetesObject, finalizer: string): string | undefined {
  const entry = metadata.managedFields?.find(({ fieldsV1 }) => {
    const fields = (fieldsV1 ?? {}) as Record<string, Record<string, Record<string, unknown> | undefined> | undefined>;
    return fields['f:metadata']?.['f:finalizers']?.[`v:${JSON.stringify(finalizer)}`] !== undefined;
  });
  return entry?.manager;
}
