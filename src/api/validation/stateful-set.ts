/** Validation of stateful sets. Upstream: apis/apps/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Steps } from '../../base/steps.ts';
import { Field } from '../field-error.ts';
import type { StatefulSet, StatefulSetSpec } from '../gen/apps-v1.ts';
import type { PersistentVolumeClaim } from '../gen/core-v1.ts';
import { compileLabelSelector } from '../label-selector.ts';
import { validateAnnotations, validateLabels } from '../meta-validation.ts';
import { isDns1123Label } from '../names.ts';
import {
  isZero,
  NO_MATCH_TEXT,
  validateAlwaysRestarts,
  validateSelectedTemplate,
  validateWorkloadSelector,
} from './apps.ts';
import { validateNonnegative, validateNonnegativeIntOrPercent, validateNotAboveHundredPercent } from './common.ts';
import { internalForm, shownMap } from './internal-form.ts';
import { validatePersistentVolumeClaimSpec } from './persistent-volume-claim.ts';

const UPDATABLE =
  "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds'";

function validateStrategy(spec: StatefulSetSpec, field: Field): void {
  const { type = '', rollingUpdate } = spec.updateStrategy ?? {};
  switch (type) {
    case '':
      return field.required();
    case 'OnDelete':
      if (rollingUpdate !== undefined)
        field
          .at('rollingUpdate')
          .invalid(
            internalForm(rollingUpdate, 'apps.v1.RollingUpdateStatefulSetStrategy'),
            `only allowed for updateStrategy 'RollingUpdate'`,
          );
      return;
    case 'RollingUpdate': {
      validateNonnegative(rollingUpdate?.partition, field.at('rollingUpdate').at('partition'));
      const unavailable = rollingUpdate?.maxUnavailable;
      if (unavailable === undefined) return;
      const place = field.at('rollingUpdate').at('maxUnavailable');
      validateNonnegativeIntOrPercent(unavailable, place);
      if (isZero(unavailable)) place.invalid(unavailable, 'cannot be 0');
      validateNotAboveHundredPercent(unavailable, place);
      return;
    }
    default:
      field.invalid(
        internalForm(spec.updateStrategy ?? {}, 'apps.v1.StatefulSetUpdateStrategy'),
        `must be 'RollingUpdate' or 'OnDelete'`,
      );
  }
}

/** Parts that an update does not check again, because they are unchanged or were invalid before. */
interface UncheckedParts {
  readonly fixed?: boolean;
  readonly template?: boolean;
}

function* validateSpec(spec: StatefulSetSpec, uncheckedParts: UncheckedParts, field: Field): Steps<void> {
  const policy = spec.podManagementPolicy ?? '';
  if (policy === '') field.at('podManagementPolicy').required();
  else if (policy !== 'OrderedReady' && policy !== 'Parallel')
    field.at('podManagementPolicy').invalid(policy, `must be 'OrderedReady' or 'Parallel'`);
  validateStrategy(spec, field.at('updateStrategy'));
  for (const name of ['whenDeleted', 'whenScaled'] as const) {
    const value = spec.persistentVolumeClaimRetentionPolicy?.[name];
    if (value !== undefined && value !== 'Retain' && value !== 'Delete')
      field.at('persistentVolumeClaimRetentionPolicy').at(name).notSupported(value, ['Retain', 'Delete']);
  }
  if (uncheckedParts.fixed !== true)
    for (const [index, claim] of (spec.volumeClaimTemplates ?? []).entries())
      validatePersistentVolumeClaimSpec(claim.spec ?? {}, field.at('volumeClaimTemplates').item(index).at('spec'));
  validateNonnegative(spec.replicas, field.at('replicas'));
  validateNonnegative(spec.minReadySeconds, field.at('minReadySeconds'));
  validateNonnegative(spec.ordinals?.start, field.at('ordinals.start'));
  const { serviceName = '' } = spec;
  if (uncheckedParts.fixed !== true && serviceName !== '')
    field.at('serviceName').complain(serviceName, isDns1123Label(serviceName));
  yield* validateTemplate(spec, uncheckedParts, field);
}

function* validateTemplate(spec: StatefulSetSpec, uncheckedParts: UncheckedParts, field: Field): Steps<void> {
  const texts = { kind: 'statefulset', unsound: '' } as const;
  const sound = validateWorkloadSelector(spec.selector, texts, field.at('selector'));
  if (sound) {
    const matches =
      spec.template === undefined || compileLabelSelector(spec.selector).matches(spec.template.metadata?.labels);
    const place = field.at('template');
    if (uncheckedParts.template !== true) yield* validateSelectedTemplate(withClaims(spec), matches, place);
    else if (!matches)
      place.at('metadata').at('labels').invalid(shownMap(spec.template.metadata?.labels), NO_MATCH_TEXT);
    validateLabels(spec.template?.metadata?.labels, place.at('labels'));
    validateAnnotations(spec.template?.metadata?.annotations, place.at('annotations'));
  }
  validateAlwaysRestarts(spec.template, 'StatefulSet', field.at('template'));
}

export function* validateStatefulSet(statefulSet: StatefulSet, field: Field): Steps<void> {
  if (statefulSet.spec === undefined) return field.at('spec').required();
  yield* validateSpec(statefulSet.spec, {}, field.at('spec'));
}

/** The template with a volume for each claim template, so that mounts of claims are valid. */
function withClaims(spec: StatefulSetSpec): StatefulSetSpec['template'] | undefined {
  const template = spec.template;
  if (template?.spec === undefined) return template;
  const claims = new Set((spec.volumeClaimTemplates ?? []).map((claim) => claim.metadata?.name ?? ''));
  const { subdomain: _subdomain, hostname: _hostname, ...podSpec } = template.spec;
  const kept = (podSpec.volumes ?? []).filter((volume) => !claims.has(volume.name));
  const volumes = [...[...claims].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })), ...kept];
  return { ...template, spec: { ...podSpec, ...(claims.size > 0 && { volumes }) } };
}

/** Upstream's internal type drops apiVersion and kind of a claim template. */
function withoutType({ apiVersion: _version, kind: _kind, ...claim }: PersistentVolumeClaim): object {
  return claim;
}

/** Most fields of a stateful set's spec are immutable. */
export function* validateStatefulSetUpdate(statefulSet: StatefulSet, old: StatefulSet, field: Field): Steps<void> {
  const before = Field.root();
  if (old.spec !== undefined) yield* validateSpec(old.spec, { fixed: true }, before);
  const known = { fixed: true, template: before.errors.length > 0 };
  yield* validateSpec(statefulSet.spec ?? ({} as StatefulSetSpec), known, field.at('spec'));
  const [fixed, was] = [statefulSet, old].map(({ spec }) => {
    const {
      replicas: _replicas,
      template: _template,
      updateStrategy: _strategy,
      persistentVolumeClaimRetentionPolicy: _retention,
      minReadySeconds: _ready,
      ordinals: _ordinals,
      revisionHistoryLimit: _history,
      ...rest
    } = spec ?? ({} as StatefulSetSpec);
    return { ...rest, volumeClaimTemplates: (rest.volumeClaimTemplates ?? []).map(withoutType) };
  });
  if (!deepEqual(fixed, was))
    field.at('spec').forbidden(`updates to statefulset spec for fields other than ${UPDATABLE} are forbidden`);
}
