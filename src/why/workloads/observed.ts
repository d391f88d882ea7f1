/** Whether a controller has observed the present generation of an object. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

/** Whether the status describes the present spec. */
export function isObserved(object: KubernetesObject): boolean {
  const { observedGeneration } = (object as { status?: { observedGeneration?: number | bigint } }).status ?? {};
  return Number(observedGeneration ?? 0) >= Number(object.metadata.generation ?? 1);
}

export function notObservedCause(info: ResourceInfo, object: KubernetesObject): Cause {
  return cause({
    code: 'NotObserved',
    object: nameOfObject(info, object),
    message: 'its controller has not seen its newest generation',
    cure: { text: 'see whether the controller manager runs' },
  });
}
