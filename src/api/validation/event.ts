/** Events of both groups. Upstream: apis/core/validation/events.go. */
import type { Field } from '../field-error.ts';
import type { Event } from '../gen/core-v1.ts';
import type { Event as EventV1 } from '../gen/events-v1.ts';
import { isDns1123Subdomain, isQualifiedName } from '../names.ts';
import { validateChoice } from './common.ts';

/** Events about cluster-scoped objects live here. */
const DEFAULT_NAMESPACE = 'default';

/** A core event. */
export function validateEvent(event: Event, field: Field): void {
  const about = event.involvedObject ?? {};
  const namespace = event.metadata.namespace ?? '';
  if ((about.namespace ?? '') === '') {
    if (namespace !== DEFAULT_NAMESPACE && namespace !== 'kube-system') {
      field.at('involvedObject').at('namespace').invalid('', 'does not match event.namespace');
    }
  } else if (namespace !== about.namespace) {
    field.at('involvedObject').at('namespace').invalid(about.namespace, 'does not match event.namespace');
  }
  if (namespace !== '') field.at('namespace').complain(namespace, isDns1123Subdomain(namespace));
}

function validateTextLengths(event: EventV1, field: Field): void {
  const limits: readonly (readonly ['reportingInstance' | 'action' | 'reason' | 'note', number])[] = [
    ['reportingInstance', 128],
    ['action', 128],
    ['reason', 128],
    ['note', 1024],
  ];
  for (const [name, limit] of limits) {
    const text = event[name] ?? '';
    if (text === '' && name !== 'note') field.at(name).required();
    if (text.length > limit) field.at(name).invalid('', `can have at most ${limit} characters`);
  }
}

/** A new events.k8s.io event. */
export function validateEventV1(event: EventV1, field: Field): void {
  const namespace = event.metadata.namespace ?? '';
  const about = event.regarding?.namespace ?? '';
  if (about !== '' && about !== namespace)
    field.at('involvedObject').at('namespace').invalid(about, 'does not match event.namespace');
  // Events of old reporters carry the old times only.
  if ((event.eventTime ?? '') === '') {
    if (event.deprecatedFirstTimestamp === undefined) field.at('eventTime').required();
    return;
  }
  if ((event.reportingController ?? '') === '') field.at('reportingController').required();
  else field.at('reportingController').complain(event.reportingController, isQualifiedName(event.reportingController!));
  validateTextLengths(event, field);
  validateChoice(event.type, ['Normal', 'Warning'], field.at('type'));
  if (event.series !== undefined) {
    if ((event.series.count ?? 0) < 2) field.at('series').at('count').invalid('', 'should be at least 2');
    if ((event.series.lastObservedTime ?? '') === '') field.at('series').at('lastObservedTime').required();
  }
}
