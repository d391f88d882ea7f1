/** Objects that block the deletion of another, each with what keeps it. */
import { Pods } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { Evidence } from './evidence.ts';
import { cause, type Cause } from './explanation.ts';
import { nameOf } from './object-name.ts';

/** `objects` may contain only metadata. */
export async function remainingObjects(
  info: ResourceInfo<KubernetesObject>,
  objects: readonly KubernetesObject[],
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const causes: Cause[] = [];
  for (const object of objects) {
    const at = nameOf(info, object.metadata);
    const message = `${at.kind} ${at.name} is still there`;
    causes.push(cause({ code: 'ContentRemains', object: at, message, because: await holders(info, object, evidence) }));
  }
  return causes;
}

/** The reasons why a deleted object remains. A pod has more reasons than its finalizers. */
async function holders(
  info: ResourceInfo<KubernetesObject>,
  object: KubernetesObject,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const { namespace, name = '', deletionTimestamp } = object.metadata;
  if (deletionTimestamp === undefined) return [];
  if (info.kind !== 'Pod' || info.group !== '') return evidence.causesOf(info, object);
  const { object: pod } = await evidence.get(Pods, { namespace, name });
  return pod === undefined ? [] : evidence.causesOf(Pods, pod);
}
