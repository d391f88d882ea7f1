/** Validation of events of both groups. Upstream: apis/core/validation/events.go. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { Event } from '../gen/core-v1.ts';
import type { Event as EventV1 } from '../gen/events-v1.ts';
import { FIELD_IMMUTABLE_TEXT } from '../meta-validation.ts';
import { isDns1123Subdomain, isQualifiedName } from '../names.ts';

/** The namespace of events about cluster-scoped objects. */
const DEFAULT_NAMESPACE = 'default';

/** The fields that both groups check, under each version's own names for the reporter. */
interface ReportedFields {
  readonly namespace: string;
  readonly about: string;
  readonly eventTime: string;
  readonly reporter: { readonly field: string; readonly value: string };
  readonly texts: Readonly<Record<'reportingInstance' | 'action' | 'reason' | 'message', string>>;
}

const LENGTH_LIMITS = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

/** Rules that predate events.k8s.io and hold for both groups. */
function validateReported(event: ReportedFields, field: Field): void {
  const { namespace, about, reporter } = event;
  const place = field.at('involvedObject').at('namespace');
  if (event.eventTime === '') {
    const fits = about === '' ? namespace === '' || namespace === DEFAULT_NAMESPACE : namespace === about;
    if (!fits) place.invalid(about, 'does not match event.namespace');
  } else {
    if (about === '' && namespace !== DEFAULT_NAMESPACE && namespace !== 'kube-system')
      place.invalid(about, 'does not match event.namespace');
    if (reporter.value === '') field.at(reporter.field).required();
    field.at(reporter.field).complain(reporter.value, isQualifiedName(reporter.value));
    validateTexts(event.texts, field);
  }
  field.at('namespace').complain(namespace, isDns1123Subdomain(namespace));
}

function validateTexts(texts: ReportedFields['texts'], field: Field): void {
  for (const [name, limit] of Object.entries(LENGTH_LIMITS)) {
    const text = texts[name as keyof typeof texts];
    if (text === '' && name !== 'message') field.at(name).required();
    if (Buffer.byteLength(text) > limit) field.at(name).invalid('', `can have at most ${limit} characters`);
  }
}

/** Validates a core/v1 event. */
export function validateEvent(event: Event, field: Field): void {
  const { reportingInstance = '', action = '', reason = '', message = '' } = event;
  const reported = {
    namespace: event.metadata.namespace ?? '',
    about: event.involvedObject?.namespace ?? '',
    eventTime: event.eventTime ?? '',
    reporter: { field: 'reportingComponent', value: event.reportingComponent ?? '' },
    texts: { reportingInstance, action, reason, message },
  };
  validateReported(reported, field);
}

function validateReportedV1(event: EventV1, field: Field): void {
  const { reportingInstance = '', action = '', reason = '', note: message = '' } = event;
  const reported = {
    namespace: event.metadata.namespace ?? '',
    about: event.regarding?.namespace ?? '',
    eventTime: event.eventTime ?? '',
    reporter: { field: 'reportingController', value: event.reportingController ?? '' },
    texts: { reportingInstance, action, reason, message },
  };
  validateReported(reported, field);
}

function validateSeries({ series }: EventV1, field: Field): void {
  if (series === undefined) return;
  if ((series.count ?? 0) < 2) field.at('series').at('count').invalid('', 'should be at least 2');
  if ((series.lastObservedTime ?? '') === '') field.at('series').at('lastObservedTime').required();
}

/** Validates a new events.k8s.io event. As upstream, field paths have the core group's names. */
export function validateEventV1(event: EventV1, field: Field): void {
  validateReportedV1(event, field);
  validateSeries(event, field);
  if ((event.eventTime ?? '') === '') field.at('eventTime').required();
  if (event.type !== 'Normal' && event.type !== 'Warning')
    field.at('type').invalid('', `has invalid value: ${event.type ?? ''}`);
  const { component = '', host = '' } = event.deprecatedSource ?? {};
  const old: readonly (readonly [string, boolean])[] = [
    ['firstTimestamp', (event.deprecatedFirstTimestamp ?? '') !== ''],
    ['lastTimestamp', (event.deprecatedLastTimestamp ?? '') !== ''],
    ['count', (event.deprecatedCount ?? 0) !== 0],
    ['source', component !== '' || host !== ''],
  ];
  for (const [name, isSet] of old) if (isSet) field.at(name).invalid('', 'needs to be unset');
}

/** Immutable fields of an events.k8s.io event, with their names in the core group. */
const FIXED: readonly (readonly [keyof EventV1, string])[] = [
  ['regarding', 'involvedObject'],
  ['reason', 'reason'],
  ['note', 'message'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['type', 'type'],
  ['eventTime', 'eventTime'],
  ['action', 'action'],
  ['related', 'related'],
  ['reportingController', 'reportingController'],
  ['reportingInstance', 'reportingInstance'],
];

/** Validates an update of an events.k8s.io event: only the series may change. */
export function validateEventV1Update(event: EventV1, old: EventV1, field: Field): void {
  validateReportedV1(event, field);
  if (!deepEqual(event.series, old.series)) validateSeries(event, field);
  for (const [name, core] of FIXED)
    if (!deepEqual(event[name], old[name])) field.at(core).invalid(event[name], FIELD_IMMUTABLE_TEXT);
}
