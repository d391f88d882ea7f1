// Validation of persistent volume claims. Upstream: core/validation (ValidatePersistentVolumeClaim and its updates).
import { deepEqual } from '../../base/equal.ts';
import { stringifyJson } from '../codec/json.ts';
import type { Field } from '../field-error.ts';
import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
  TypedObjectReference,
} from '../gen/core-v1.ts';
import { FIELD_IMMUTABLE_TEXT, validateAnnotations, validateLabels } from '../meta-validation.ts';
import { isDns1123Label, isDns1123Subdomain } from '../names.ts';
import { compareQuantities } from '../quantity.ts';
import { validateImmutable, validateOptionalChoice } from './common.ts';
import { validateAccessModes, validateClassName, validatePositiveQuantity, VOLUME_MODES } from './persistent-volume.ts';
import { validateLabelSelector } from './selectors.ts';

/** Validates the spec of a claim, also in templates and ephemeral volumes. */
export function validatePersistentVolumeClaimSpec(spec: PersistentVolumeClaimSpec, field: Field): void {
  const { accessModes = [], dataSource, dataSourceRef } = spec;
  if (accessModes.length === 0) field.at('accessModes').required('at least 1 access mode is required');
  validateLabelSelector(spec.selector, field.at('selector'));
  validateAccessModes(accessModes, field.at('accessModes'));
  const storage = spec.resources?.requests?.['storage'];
  const place = field.at('resources').key('storage');
  if (storage === undefined) place.required();
  else validatePositiveQuantity(storage, place);
  validateClassName(spec.storageClassName, field.at('storageClassName'));
  validateOptionalChoice(spec.volumeMode, VOLUME_MODES, field.at('volumeMode'));
  if (dataSource !== undefined) validateDataSource(dataSource, field.at('dataSource'));
  if (dataSourceRef !== undefined) validateDataSource(dataSourceRef, field.at('dataSourceRef'));
  validateSourcesMatch(spec, field);
  validateClassName(spec.volumeAttributesClassName, field.at('volumeAttributesClassName'));
}

function validateDataSource(source: TypedObjectReference, field: Field): void {
  const { name = '', kind = '', apiGroup = '', namespace = '' } = source;
  if (name === '') field.at('name').required();
  if (kind === '') field.at('kind').required();
  if (apiGroup === '' && kind !== 'PersistentVolumeClaim')
    field.invalid(kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  if (apiGroup !== '') field.at('apiGroup').complain(apiGroup, isDns1123Subdomain(apiGroup));
  if (namespace !== '') field.at('namespace').complain(namespace, isDns1123Label(namespace));
}

/** `dataSource` must equal `dataSourceRef` or be absent. As upstream, the error quotes the field's path as its value. */
function validateSourcesMatch({ dataSource, dataSourceRef }: PersistentVolumeClaimSpec, field: Field): void {
  if (dataSource === undefined || dataSourceRef === undefined) return;
  const shown = field.at('dataSource').path;
  const [older, newer] = [dataSource, dataSourceRef].map(({ apiGroup, kind, name }) => ({ apiGroup, kind, name }));
  if ((dataSourceRef.namespace ?? '') !== '')
    field.invalid(shown, 'may not be specified when dataSourceRef.namespace is specified');
  else if (!deepEqual(older, newer)) field.invalid(shown, 'must match dataSourceRef');
}

/** Validates a template from which a pod or a set creates claims: of metadata it may have only labels and annotations. */
export function validateClaimTemplate(template: PersistentVolumeClaimTemplate, field: Field): void {
  const { labels, annotations, ...others } = template.metadata ?? {};
  const place = field.at('metadata');
  validateAnnotations(annotations, place.at('annotations'));
  validateLabels(labels, place.at('labels'));
  for (const [name, value] of Object.entries(others))
    if (value !== undefined && value !== '' && value !== 0)
      // As upstream, the path has the name of the Go field.
      place.at(name === 'uid' ? 'uID' : name).forbidden('cannot be set');
  validatePersistentVolumeClaimSpec(template.spec ?? {}, field.at('spec'));
}

export function validatePersistentVolumeClaim(claim: PersistentVolumeClaim, field: Field): void {
  validatePersistentVolumeClaimSpec(claim.spec ?? {}, field.at('spec'));
}

const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

function classAnnotation({ metadata }: PersistentVolumeClaim): string {
  return metadata.annotations?.[CLASS_ANNOTATION] ?? '';
}

/** The new spec with mutable fields reset to their old values. */
function mungedClaim(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): PersistentVolumeClaimSpec {
  const munged: PersistentVolumeClaimSpec = { ...claim.spec };
  const isBound = claim.status?.phase === 'Bound';
  const storage = old.spec?.resources?.requests?.['storage'];
  if ((old.spec?.volumeName ?? '') === '') delete munged.volumeName;
  // A claim without a class may get one; when it has the annotation, the class must be that of the annotation.
  const named = old.metadata.annotations?.[CLASS_ANNOTATION] ?? munged.storageClassName;
  if (old.spec?.storageClassName === undefined && munged.storageClassName === named) delete munged.storageClassName;
  if (!isBound) return munged;
  if (munged.resources?.requests !== undefined && storage !== undefined)
    munged.resources = { ...munged.resources, requests: { ...munged.resources.requests, storage } };
  delete munged.volumeAttributesClassName;
  if (old.spec?.volumeAttributesClassName !== undefined)
    munged.volumeAttributesClassName = old.spec.volumeAttributesClassName;
  return munged;
}

/** A class given by annotation is immutable, but may move to the field. */
function validateClassChange(claim: PersistentVolumeClaim, old: PersistentVolumeClaim, field: Field): void {
  const [now, before] = [classAnnotation(claim), classAnnotation(old)];
  const moves = old.spec?.storageClassName === undefined && claim.spec?.storageClassName === before && now === '';
  if (!moves && now !== before)
    field.at('metadata').at('annotations').at(CLASS_ANNOTATION).invalid(now, FIELD_IMMUTABLE_TEXT);
}

/** A claim's spec is immutable, except when it is bound, and to grow after that. */
export function validatePersistentVolumeClaimUpdate(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
  field: Field,
): void {
  validatePersistentVolumeClaim(claim, field);
  validateClassChange(claim, old, field);
  const place = field.at('spec');
  const { volumeName: _bound, ...unbound } = old.spec ?? {};
  const before = (old.spec?.volumeName ?? '') === '' ? unbound : old.spec!;
  if (!deepEqual(mungedClaim(claim, old), before))
    place.forbidden(
      `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${specDiff(claim.spec, old.spec)}`,
    );
  const amount = (spec: PersistentVolumeClaimSpec | undefined) => spec?.resources?.requests?.['storage'] ?? '0';
  const granted = old.status?.capacity?.['storage'] ?? '0';
  const isSmaller = compareQuantities(amount(claim.spec), amount(old.spec)) < 0;
  if (isSmaller && compareQuantities(amount(claim.spec), granted) <= 0)
    place.at('resources').at('requests').at('storage').forbidden('field can not be less than status.capacity');
  validateImmutable(claim.spec?.volumeMode, old.spec?.volumeMode, field.at('volumeMode'));
  validateAttributesChange(claim, old, place.at('volumeAttributesClassName'));
}

function validateAttributesChange({ spec }: PersistentVolumeClaim, old: PersistentVolumeClaim, field: Field): void {
  if (old.status?.currentVolumeAttributesClassName === undefined) return;
  const name = spec?.volumeAttributesClassName;
  const why = 'is forbidden when status.currentVolumeAttributesClassName is not nil';
  if (name === old.spec?.volumeAttributesClassName) return;
  if (name === undefined) field.forbidden(`update to nil ${why}`);
  else if (name === '') field.forbidden(`update to empty string ${why}`);
}

function specDiff(now: object | undefined, before: object | undefined): string {
  const keys = [...new Set([...Object.keys(before ?? {}), ...Object.keys(now ?? {})])].toSorted();
  const [a, b] = [before, now] as (Record<string, unknown> | undefined)[];
  return keys
    .filter((key) => !deepEqual(a?.[key], b?.[key]))
    .map((key) => `- ${key}: ${stringifyJson(a?.[key])}\n+ ${key}: ${stringifyJson(b?.[key])}`)
    .join('\n');
}
