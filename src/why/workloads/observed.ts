/** Checks whether a controller has observed the current generation of an object. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { parseTime } from '../../api/time.ts';
import { cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

/** The slowest controller syncs its objects every 15 s. */
const USUAL_MS = 20_000;

/** Undefined when the status describes the current spec. Shortly after a change an old status is no trouble. */
export function diagnoseUnobserved(
  info: ResourceInfo,
  object: KubernetesObject,
  nowMs: number,
): Pick<Diagnosis, 'state' | 'causes'> | undefined {
  if (isObserved(object)) return undefined;
  if (isNew(object, nowMs)) return { state: 'Progressing', causes: [] };
  const notObserved = cause({
    code: 'NotObserved',
    object: nameOfObject(info, object),
    message: 'its controller has not seen its newest generation',
    cure: { text: 'see whether the controller manager runs' },
  });
  return { state: 'Trouble', causes: [notObserved] };
}

/** Whether the status has an observed generation that is not the current one. */
export function isBehind(object: KubernetesObject): boolean {
  const { observedGeneration } = (object as { status?: { observedGeneration?: unknown } }).status ?? {};
  return ['number', 'bigint'].includes(typeof observedGeneration) && !isObserved(object);
}

/** Whether the object was changed so recently that its controller may not have observed the change. */
export function isNew(object: KubernetesObject, nowMs: number): boolean {
  return nowMs - changedMs(object) < USUAL_MS;
}

function isObserved(object: KubernetesObject): boolean {
  const { observedGeneration } = (object as { status?: { observedGeneration?: number | bigint } }).status ?? {};
  return Number(observedGeneration ?? 0) >= Number(object.metadata.generation ?? 1);
}

/** The time of the last change of more than the status. */
function changedMs({ metadata }: KubernetesObject): number {
  const { creationTimestamp = '', managedFields = [] } = metadata;
  const changes = managedFields.filter(({ subresource }) => subresource !== 'status').map(({ time = '' }) => time);
  return changes.reduce((latest, time) => Math.max(latest, parseTime(time) || 0), parseTime(creationTimestamp) || 0);
}
