/** Causes that only events of the pod report. */
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
  /** The end of the involved object's field path: `{web}` for a container. */
  readonly field?: string;
  /** The number of different messages that are shown, the newest first. Default 1. */
  readonly messages?: number;
}

/** A cause from the events with one of the reasons; undefined when there is no such event. */
export async function latestEventCause(pod: Pod, evidence: Evidence, wanted: EventCause): Promise<readonly Cause[]> {
  const { reasons, code, message, cure, field = '', messages = 1 } = wanted;
  const events = (await evidence.events(pod)).filter(
    ({ reason = '', involvedObject }) => reasons.includes(reason) && (involvedObject.fieldPath ?? '').endsWith(field),
  );
  const [newest] = events;
  if (newest === undefined) return [];
  const texts = new Set(events.map((event) => (event.message ?? '').trimEnd()));
  const since = formatTime(timeOfEvent(newest));
  return [cause({ code, object: nameOfObject(Pods, pod), message, since, facts: [...texts].slice(0, messages), cure })];
}
