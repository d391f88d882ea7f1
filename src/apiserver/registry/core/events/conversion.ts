/**
 * Converts events: the core kind is stored, events.k8s.io has other field names. Upstream:
 * apis/events/v1/conversion.go.
 */
import { objectOf } from '../../../../api/object.ts';
import type { Event } from '../../../../api/gen/core-v1.ts';
import type { Event as EventV1 } from '../../../../api/gen/events-v1.ts';

/** Field of the core kind → field of events.k8s.io. */
const RENAMED: readonly (readonly [keyof Event, keyof EventV1])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['count', 'deprecatedCount'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['source', 'deprecatedSource'],
];

function rename(object: object, pairs: readonly (readonly [string, string])[]): Record<string, unknown> {
  const renamed: Record<string, unknown> = { ...object };
  for (const [from, to] of pairs) {
    if (!(from in renamed)) continue;
    renamed[to] = renamed[from];
    delete renamed[from];
  }
  return renamed;
}

/** events.k8s.io/v1 → v1. */
export function eventToCore(event: EventV1): Event {
  const renamed = rename(
    event,
    RENAMED.map(([core, v1]) => [v1, core]),
  );
  return objectOf<Event>({ involvedObject: {}, ...renamed, apiVersion: 'v1', kind: 'Event' });
}

/** v1 → events.k8s.io/v1. */
export function eventFromCore(event: Event): EventV1 {
  return objectOf<EventV1>({ ...rename(event, RENAMED), apiVersion: 'events.k8s.io/v1', kind: 'Event' });
}
