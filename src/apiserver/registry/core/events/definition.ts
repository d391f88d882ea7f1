/** Events in both groups, in one storage with a time to live. Upstream: registry/core/event. */
import type { Event } from '../../../../api/gen/core-v1.ts';
import type { Event as EventV1 } from '../../../../api/gen/events-v1.ts';
import { Events, EventsV1 } from '../../../../api/gen/resources.ts';
import { isPathSegmentName } from '../../../../api/names.ts';
import type { KubernetesObject } from '../../../../api/object.ts';
import { validateEvent, validateEventV1, validateEventV1Update } from '../../../../api/validation/event.ts';
import { defineResource } from '../../define-resource.ts';
import type { ResourceDefinition } from '../../resource-definition.ts';
import { eventPrinter } from './table.ts';
import { eventFromCore, eventToCore } from './conversion.ts';

/** The default of `--event-ttl`. */
export const EVENT_TTL_SECONDS = 3600;

function coreFields(event: Event) {
  const about = event.involvedObject ?? {};
  return {
    'involvedObject.kind': about.kind ?? '',
    'involvedObject.namespace': about.namespace ?? '',
    'involvedObject.name': about.name ?? '',
    'involvedObject.uid': about.uid ?? '',
    'involvedObject.apiVersion': about.apiVersion ?? '',
    'involvedObject.resourceVersion': about.resourceVersion ?? '',
    'involvedObject.fieldPath': about.fieldPath ?? '',
    reason: event.reason ?? '',
    reportingComponent: event.reportingComponent ?? '',
    source: event.source?.component || event.reportingComponent || '',
    type: event.type ?? '',
  };
}

function eventFields(event: EventV1): Record<string, string> {
  const { source: _source, ...fields } = coreFields(eventToCore(event));
  const renamed = Object.entries(fields).map(([key, value]) => [
    key.replace(/^involvedObject/, 'regarding').replace(/^reportingComponent$/, 'reportingController'),
    value,
  ]);
  return Object.fromEntries(renamed) as Record<string, string>;
}

/** The definitions of events, which expire after `ttlSeconds`; 0: never. */
export function eventDefinitions(ttlSeconds: number = EVENT_TTL_SECONDS): ResourceDefinition[] {
  return [
    defineResource(Events, {
      // Reporters in the core group have always named events freely.
      rules: { allowCreateOnUpdate: true, validate: validateEvent, validateName: isPathSegmentName },
      printer: eventPrinter,
      selectableFields: coreFields,
      ttlSeconds: ttlSeconds > 0 ? ttlSeconds : undefined,
    }),
    defineResource(EventsV1, {
      rules: { allowCreateOnUpdate: true, validate: validateEventV1, validateUpdate: validateEventV1Update },
      printer: {
        columns: eventPrinter.columns,
        cells: (event, nowMs) => eventPrinter.cells(eventToCore(event), nowMs),
      },
      selectableFields: eventFields,
      ttlSeconds: ttlSeconds > 0 ? ttlSeconds : undefined,
      conversion: { toStored: eventToCore, fromStored: (stored: KubernetesObject) => eventFromCore(stored as Event) },
    }),
  ];
}
