/** Objects that keep another from going: each with what holds it. */
import { Pods } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { Evidence } from './evidence.ts';
import { cause, type Cause } from './explanation.ts';
import { nameOf } from './object-name.ts';

/** `objects` may have their metadata alone. */
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

/** What holds an object that is being deleted. Of a pod there is more to say than its metadata tells. */
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
