/** Whether a controller has observed the present generation of an object. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { parseTime } from '../../api/time.ts';
import { cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

/** The slowest controller looks at its objects every 15 s. */
const USUAL_MS = 20_000;

/** Undefined where the status describes the present spec; just after a change nothing is wrong about it. */
export function diagnoseUnobserved(
  info: ResourceInfo,
  object: KubernetesObject,
  nowMs: number,
): Pick<Diagnosis, 'state' | 'causes'> | undefined {
  if (isObserved(object)) return undefined;
  if (nowMs - changedMs(object) < USUAL_MS) return { state: 'Progressing', causes: [] };
  const notObserved = cause({
    code: 'NotObserved',
    object: nameOfObject(info, object),
    message: 'its controller has not seen its newest generation',
    cure: { text: 'see whether the controller manager runs' },
  });
  return { state: 'Trouble', causes: [notObserved] };
}

function isObserved(object: KubernetesObject): boolean {
  const { observedGeneration } = (object as { status?: { observedGeneration?: number | bigint } }).status ?? {};
  return Number(observedGeneration ?? 0) >= Number(object.metadata.generation ?? 1);
}

/** When somebody last changed more than its status. */
function changedMs({ metadata }: KubernetesObject): number {
  const { creationTimestamp = '', managedFields = [] } = metadata;
  const changes = managedFields.filter(({ subresource }) => subresource !== 'status').map(({ time = '' }) => time);
  return changes.reduce((latest, time) => Math.max(latest, parseTime(time) || 0), parseTime(creationTimestamp) || 0);
}
