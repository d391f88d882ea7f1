/** Selects events of a simulated cluster. */
import type { Event } from '../api/gen/core-v1.ts';
import { sortedEvents } from './describe.ts';
import type { ObjectReference, ResolvedReference } from './references.ts';

/** Selects events by object, reason, type and source. */
export interface EventFilter {
  readonly about?: ObjectReference;
  readonly reason?: string;
  readonly type?: 'Normal' | 'Warning';
}

/** Copies of the matching events, in the order of their last occurrence. */
export function findEvents(
  events: readonly Event[],
  { about, reason, type }: EventFilter,
  resolve: (reference: ObjectReference) => ResolvedReference,
): Event[] {
  const target = about === undefined ? undefined : resolve(about);
  const found = events.filter(
    (event) =>
      (reason === undefined || event.reason === reason) &&
      (type === undefined || event.type === type) &&
      (target === undefined ||
        (event.involvedObject.kind === target.info.kind &&
          event.involvedObject.name === target.name &&
          (event.involvedObject.namespace ?? '') === target.namespace)),
  );
  return structuredClone([...sortedEvents(found)]);
}
