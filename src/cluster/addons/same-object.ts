/** Compares references to objects. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { ObjectReference } from './addon-record.ts';

/** Whether an object is of this kind, in any version of its group. */
export function isOfKind(
  info: ResourceInfo<KubernetesObject>,
  { apiVersion, kind }: Pick<KubernetesObject, 'apiVersion' | 'kind'>,
): boolean {
  const group = apiVersion?.includes('/') === true ? apiVersion.split('/')[0] : '';
  return info.kind === kind && info.group === group;
}

/** Whether both refer to the same object, in any version. */
export function isSame(a: ObjectReference, b: ObjectReference): boolean {
  return (
    a.kind === b.kind &&
    a.apiVersion.split('/')[0] === b.apiVersion.split('/')[0] &&
    a.name === b.name &&
    a.namespace === b.namespace
  );
}
