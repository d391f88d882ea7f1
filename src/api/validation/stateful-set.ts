/** Stateful sets. Upstream: apis/apps/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { StatefulSet, StatefulSetSpec } from '../gen/apps-v1.ts';
import { compileLabelSelector } from '../label-selector.ts';
import { isDns1123Label } from '../names.ts';
import { validateAlwaysRestarts, validateSelectedTemplate, validateWorkloadSelector } from './apps.ts';
import { validateNonnegative, validateNonnegativeIntOrPercent, validateNotAboveHundredPercent } from './common.ts';

const UPDATABLE =
  "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds'";

function validateStrategy(spec: StatefulSetSpec, field: Field): void {
  const { type = '', rollingUpdate } = spec.updateStrategy ?? {};
  switch (type) {
    case '':
      return field.required();
    case 'OnDelete':
      if (rollingUpdate !== undefined)
        field.at('rollingUpdate').invalid(rollingUpdate, `only allowed for updateStrategy 'RollingUpdate'`);
      return;
    case 'RollingUpdate': {
      validateNonnegative(rollingUpdate?.partition, field.at('rollingUpdate').at('partition'));
      const unavailable = rollingUpdate?.maxUnavailable;
      if (unavailable === undefined) return;
      validateNonnegativeIntOrPercent(unavailable, field.at('rollingUpdate').at('maxUnavailable'));
      validateNotAboveHundredPercent(unavailable, field.at('rollingUpdate').at('maxUnavailable'));
      if (unavailable === 0) field.at('rollingUpdate').at('maxUnavailable').invalid(unavailable, 'cannot be 0');
      return;
    }
    default:
      field.invalid(spec.updateStrategy, `must be 'RollingUpdate' or 'OnDelete'`);
  }
}

export function validateStatefulSet(statefulSet: StatefulSet, field: Field): void {
  const place = field.at('spec');
  const spec = statefulSet.spec;
  if (spec === undefined) return place.required();
  const policy = spec.podManagementPolicy ?? '';
  if (policy === '') place.at('podManagementPolicy').required();
  else if (policy !== 'OrderedReady' && policy !== 'Parallel')
    place.at('podManagementPolicy').invalid(policy, `must be 'OrderedReady' or 'Parallel'`);
  validateStrategy(spec, place.at('updateStrategy'));
  for (const name of ['whenDeleted', 'whenScaled'] as const) {
    const value = spec.persistentVolumeClaimRetentionPolicy?.[name];
    if (value !== undefined && value !== 'Retain' && value !== 'Delete')
      place.at('persistentVolumeClaimRetentionPolicy').at(name).notSupported(value, ['Delete', 'Retain']);
  }
  validateNonnegative(spec.replicas, place.at('replicas'));
  validateNonnegative(spec.minReadySeconds, place.at('minReadySeconds'));
  validateNonnegative(spec.ordinals?.start, place.at('ordinals').at('start'));
  validateNonnegative(spec.revisionHistoryLimit, place.at('revisionHistoryLimit'));
  if ((spec.serviceName ?? '') !== '')
    place.at('serviceName').complain(spec.serviceName, isDns1123Label(spec.serviceName!));
  const sound = validateWorkloadSelector(spec.selector, 'statefulset', place.at('selector'));
  const matches =
    !sound ||
    spec.template === undefined ||
    compileLabelSelector(spec.selector).matches(spec.template.metadata?.labels);
  validateSelectedTemplate(withClaims(spec), matches, place.at('template'));
  validateAlwaysRestarts(spec.template, 'StatefulSet', place.at('template'));
}

/** The template as its pods will be: with a volume per claim, so that mounts of claims are known. */
function withClaims(spec: StatefulSetSpec): StatefulSetSpec['template'] | undefined {
  const template = spec.template;
  const claims = (spec.volumeClaimTemplates ?? [])
    .map((claim) => claim.metadata.name ?? '')
    .filter((name) => name !== '');
  if (template?.spec === undefined || claims.length === 0) return template;
  const kept = (template.spec.volumes ?? []).filter((volume) => !claims.includes(volume.name));
  const volumes = [...kept, ...claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }))];
  return { ...template, spec: { ...template.spec, volumes } };
}

/** Most of a stateful set never changes. */
export function validateStatefulSetUpdate(statefulSet: StatefulSet, old: StatefulSet, field: Field): void {
  validateStatefulSet(statefulSet, field);
  const [now, before] = [statefulSet, old].map(({ spec }) => {
    const {
      replicas: _replicas,
      template: _template,
      updateStrategy: _strategy,
      persistentVolumeClaimRetentionPolicy: _retention,
      minReadySeconds: _ready,
      ordinals: _ordinals,
      revisionHistoryLimit: _history,
      ...fixed
    } = spec!;
    return fixed;
  });
  if (!deepEqual(now, before))
    field.at('spec').forbidden(`updates to statefulset spec for fields other than ${UPDATABLE} are forbidden`);
}
