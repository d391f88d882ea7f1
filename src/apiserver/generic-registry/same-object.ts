/** Whether a write would change nothing. Upstream: the no-op check of GuaranteedUpdate, ignoreManagedFieldsTimestampsTransformer. */
import type { KubernetesObject } from '../../api/object.ts';
import { equal } from '../../api/patch/json-patch.ts';

type ManagedFields = NonNullable<KubernetesObject['metadata']['managedFields']>;

function sameManagers(a: ManagedFields, b: ManagedFields): boolean {
  if (a === b) return true;
  return a.length === b.length && a.every((entry, index) => sameBut(entry, b[index]!, 'time'));
}

/** Whether two objects are equal but for one field. */
function sameBut(a: object, b: object, ignored: string): boolean {
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(left).filter((key) => key !== ignored);
  const others = Object.hasOwn(right, ignored) ? 1 : 0;
  if (keys.length !== Object.keys(right).length - others) return false;
  return keys.every((key) => Object.hasOwn(right, key) && equal(left[key], right[key]));
}

/** Whether a write would change only the times of managed fields, so that it can be skipped. */
export function isSame(a: KubernetesObject, b: KubernetesObject): boolean {
  return (
    sameBut(a, b, 'metadata') &&
    sameBut(a.metadata, b.metadata, 'managedFields') &&
    sameManagers(a.metadata.managedFields ?? [], b.metadata.managedFields ?? [])
  );
}
