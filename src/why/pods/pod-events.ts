/** Causes of which only an event of the pod knows. */
import { Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import { timeOfEvent, type Evidence } from '../evidence.ts';
import { cause, type Cause, type Cure } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

export interface EventCause {
  readonly reasons: readonly string[];
  readonly code: string;
  readonly message: string;
  readonly cure: Cure;
  /** Text that the path of the involved field ends with: `{web}` for a container. */
  readonly field?: string;
}

/** A cause from the newest event with one of the reasons; none where there is no such event. */
export async function latestEventCause(pod: Pod, evidence: Evidence, wanted: EventCause): Promise<readonly Cause[]> {
  const { reasons, code, message, cure, field = '' } = wanted;
  const event = (await evidence.events(pod)).find(
    ({ reason = '', involvedObject }) => reasons.includes(reason) && (involvedObject.fieldPath ?? '').endsWith(field),
  );
  if (event === undefined) return [];
  const object = nameOfObject(Pods, pod);
  const since = formatTime(timeOfEvent(event));
  return [cause({ code, object, message, since, facts: [(event.message ?? '').trimEnd()], cure })];
}
