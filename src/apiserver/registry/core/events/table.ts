/** The columns of events in `kubectl get`. Upstream: printers/internalversion. */
import { ageOf } from '../../../../api/age.ts';
import type { Event, ObjectReference } from '../../../../api/gen/core-v1.ts';
import { column, nameColumn, wide } from '../../printing.ts';
import type { Printer } from '../../resource-definition.ts';

function formatReference(reference: ObjectReference): string {
  return `${(reference.kind ?? '').toLowerCase()}/${reference.name ?? ''}`;
}

function lastSeen(event: Event, nowMs: number): string {
  if (event.series !== undefined) return ageOf(event.series.lastObservedTime, nowMs);
  return event.lastTimestamp === undefined ? ageOf(event.eventTime, nowMs) : ageOf(event.lastTimestamp, nowMs);
}

function eventSource(event: Event): string {
  const component = event.source?.component || event.reportingComponent || '';
  const host = event.source?.host || event.reportingInstance || '';
  return host === '' ? component : `${component}, ${host}`;
}

export const eventPrinter: Printer<Event> = {
  columns: [
    column('Last Seen'),
    column('Type'),
    column('Reason'),
    column('Object'),
    wide(column('Subobject')),
    wide(column('Source')),
    column('Message'),
    wide(column('First Seen')),
    wide(column('Count')),
    wide(nameColumn),
  ],
  cells: (event, nowMs) => [
    lastSeen(event, nowMs),
    event.type ?? '',
    event.reason ?? '',
    formatReference(event.involvedObject),
    event.involvedObject.fieldPath ?? '',
    eventSource(event),
    (event.message ?? '').trim(),
    ageOf(event.firstTimestamp ?? event.eventTime, nowMs),
    event.series?.count ?? event.count ?? 1,
    event.metadata.name ?? '',
  ],
};
