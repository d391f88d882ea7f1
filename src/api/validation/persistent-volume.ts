/** Persistent volumes and claims. Upstream: apis/core/validation. */
import { stringifyJson } from '../codec/json.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
  PersistentVolumeSpec,
  TypedObjectReference,
} from '../gen/core-v1.ts';
import { FIELD_IMMUTABLE_TEXT, validateAnnotations, validateLabels } from '../meta-validation.ts';
import { isDns1123Label, isDns1123Subdomain } from '../names.ts';
import { compareQuantities, quantityValue, tryParseQuantity } from '../quantity.ts';
import { validateImmutable, validateLabelSelector, validateNodeSelector, validateOptionalChoice } from './common.ts';
import { PERSISTENT_VOLUME_SOURCES, validatePersistentVolumeSource } from './persistent-volume-source.ts';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const VOLUME_MODES = ['Block', 'Filesystem'];
const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain'];
function validateAccessModes(modes: readonly string[], field: Field): void {
  for (const mode of modes) if (!ACCESS_MODES.includes(mode)) field.notSupported(mode, ACCESS_MODES);
  const others = modes.filter((mode) => mode !== 'ReadWriteOncePod' && ACCESS_MODES.includes(mode));
  if (modes.includes('ReadWriteOncePod') && others.length > 0)
    field.forbidden('may not use ReadWriteOncePod with other access modes');
}

function validatePositiveQuantity(quantity: string, field: Field): void {
  if ((tryParseQuantity(quantity)?.nanos ?? 1n) <= 0n) field.invalid(quantity, 'must be greater than zero');
}

function validateCapacity(capacity: Readonly<Record<string, string>>, field: Field): void {
  const names = Object.keys(capacity);
  if (names.length === 0) field.required();
  if (names.length !== 1 || names[0] !== 'storage') field.notSupported(capacity, ['storage']);
  for (const [name, quantity] of Object.entries(capacity)) {
    const parsed = tryParseQuantity(quantity);
    const value = parsed === undefined ? 0 : quantityValue(quantity);
    if (value < 0) field.key(name).invalid(value, 'must be a valid resource quantity');
    validatePositiveQuantity(quantity, field.key(name));
  }
}

export function validatePersistentVolume(volume: PersistentVolume, field: Field): void {
  const place = field.at('spec');
  const spec = volume.spec ?? {};
  validateVolumeAccess(spec, place);
  validateCapacity(spec.capacity ?? {}, place.at('capacity'));
  const { persistentVolumeReclaimPolicy: policy = '' } = spec;
  if (policy !== '' && !RECLAIM_POLICIES.includes(policy))
    place.at('persistentVolumeReclaimPolicy').notSupported(policy, RECLAIM_POLICIES);
  validateVolumeAffinity(spec, place.at('nodeAffinity'));
  validatePersistentVolumeSource(spec, place);
  if (policy === 'Recycle' && isRootPath(spec.hostPath?.path ?? ''))
    place.at('persistentVolumeReclaimPolicy').forbidden("may not be 'recycle' for a hostPath mount of '/'");
  validateClassName(spec.storageClassName, place.at('storageClassName'));
  validateOptionalChoice(spec.volumeMode, VOLUME_MODES, place.at('volumeMode'));
  validateAttributesClass(spec, place);
}

/** Whether an absolute path is `/` once `.` and `..` are taken out of it. Upstream: path.Clean. */
function isRootPath(path: string): boolean {
  let depth = 0;
  for (const part of path.split('/'))
    if (part === '..') depth = Math.max(0, depth - 1);
    else if (part !== '' && part !== '.') depth++;
  return path.startsWith('/') && depth === 0;
}

const INLINE_TEXT = 'in the context of inline volumes';

/** The volume of an attachment that belongs to no persistent volume: a CSI volume and little else. */
export function validateInlineVolume(spec: PersistentVolumeSpec, field: Field): void {
  const notSpecified = `may not be specified ${INLINE_TEXT}`;
  if (spec.claimRef !== undefined) field.at('claimRef').forbidden(notSpecified);
  if (Object.keys(spec.capacity ?? {}).length > 0) field.at('capacity').forbidden(notSpecified);
  if (spec.csi === undefined) field.at('csi').required(`has to be specified ${INLINE_TEXT}`);
  validateVolumeAccess(spec, field);
  const { persistentVolumeReclaimPolicy: policy = '' } = spec;
  if (policy !== '' && policy !== 'Retain')
    field.at('persistentVolumeReclaimPolicy').forbidden(`may only be Retain ${INLINE_TEXT}`);
  if (spec.nodeAffinity !== undefined) field.at('nodeAffinity').forbidden(notSpecified);
  validatePersistentVolumeSource(spec, field);
  if ((spec.storageClassName ?? '') !== '') field.at('storageClassName').forbidden(notSpecified);
  if (spec.volumeMode !== undefined && spec.volumeMode !== 'Filesystem')
    field.at('volumeMode').forbidden(`may not specify volumeMode other than Filesystem ${INLINE_TEXT}`);
  validateAttributesClass(spec, field);
}

function validateVolumeAccess({ accessModes = [] }: PersistentVolumeSpec, field: Field): void {
  if (accessModes.length === 0) field.at('accessModes').required();
  validateAccessModes(accessModes, field.at('accessModes'));
}

function validateAttributesClass({ volumeAttributesClassName: name, csi }: PersistentVolumeSpec, field: Field): void {
  if (name === undefined) return;
  const place = field.at('volumeAttributesClassName');
  if (name === '') place.required('an empty string is disallowed');
  validateClassName(name, place);
  if (csi === undefined) field.at('csi').required('has to be specified when using volumeAttributesClassName');
}

function validateVolumeAffinity({ nodeAffinity }: PersistentVolumeSpec, field: Field): void {
  if (nodeAffinity === undefined) return;
  if (nodeAffinity.required === undefined) field.at('required').required('must specify required node constraints');
  else validateNodeSelector(nodeAffinity.required, field.at('required'));
}

/** A name of a class, if there is one. */
function validateClassName(name: string | undefined, field: Field): void {
  if ((name ?? '') !== '') field.complain(name, isDns1123Subdomain(name!));
}

/** The source; a secret to expand with may be added to a driver's. */
function sourceOf(spec: PersistentVolumeSpec | undefined, old?: PersistentVolumeSpec): unknown {
  const sources = PERSISTENT_VOLUME_SOURCES.map((source) => spec?.[source]);
  if (spec?.csi === undefined || old?.csi === undefined || old.csi.controllerExpandSecretRef !== undefined)
    return sources;
  const { controllerExpandSecretRef: _added, ...csi } = spec.csi;
  return sources.map((source) => (source === spec.csi ? csi : source));
}

/** What a volume is never changes. */
export function validatePersistentVolumeUpdate(volume: PersistentVolume, old: PersistentVolume, field: Field): void {
  validatePersistentVolume(volume, field);
  const spec = field.at('spec');
  if (!deepEqual(sourceOf(volume.spec, old.spec), sourceOf(old.spec)))
    spec.at('persistentvolumesource').forbidden('spec.persistentvolumesource is immutable after creation');
  // Upstream writes these two without spec.
  validateImmutable(volume.spec?.volumeMode, old.spec?.volumeMode, field.at('volumeMode'));
  const { nodeAffinity } = volume.spec ?? {};
  if (old.spec?.nodeAffinity !== undefined && !deepEqual(nodeAffinity, old.spec.nodeAffinity))
    field.at('nodeAffinity').invalid(nodeAffinity, 'field is immutable, except for updating from beta label to GA');
  if (old.spec?.volumeAttributesClassName !== undefined && volume.spec?.volumeAttributesClassName === undefined)
    spec.at('volumeAttributesClassName').forbidden('update from non-nil value to nil is forbidden');
}

/** The spec of a claim, also of templates and ephemeral volumes. */
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

/** The older field of the two says the same or nothing. Upstream shows the field's path as its value. */
function validateSourcesMatch({ dataSource, dataSourceRef }: PersistentVolumeClaimSpec, field: Field): void {
  if (dataSource === undefined || dataSourceRef === undefined) return;
  const shown = field.at('dataSource').path;
  const [older, newer] = [dataSource, dataSourceRef].map(({ apiGroup, kind, name }) => ({ apiGroup, kind, name }));
  if ((dataSourceRef.namespace ?? '') !== '')
    field.invalid(shown, 'may not be specified when dataSourceRef.namespace is specified');
  else if (!deepEqual(older, newer)) field.invalid(shown, 'must match dataSourceRef');
}

/** A claim that is made for a pod or by a set: it has labels and annotations, and no metadata of its own beside. */
export function validateClaimTemplate(template: PersistentVolumeClaimTemplate, field: Field): void {
  const { labels, annotations, ...others } = template.metadata ?? {};
  const place = field.at('metadata');
  validateAnnotations(annotations, place.at('annotations'));
  validateLabels(labels, place.at('labels'));
  for (const [name, value] of Object.entries(others))
    if (value !== undefined && value !== '' && value !== 0)
      // The name is that of the Go field.
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

/** The new spec with what may change set back. */
function mungedClaim(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): PersistentVolumeClaimSpec {
  const munged: PersistentVolumeClaimSpec = { ...claim.spec };
  const isBound = claim.status?.phase === 'Bound';
  const storage = old.spec?.resources?.requests?.['storage'];
  if ((old.spec?.volumeName ?? '') === '') delete munged.volumeName;
  // A class may be named where none was, as the annotation has it if there is one.
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

/** The class by annotation stays, but may move to its field. */
function validateClassChange(claim: PersistentVolumeClaim, old: PersistentVolumeClaim, field: Field): void {
  const [now, before] = [classAnnotation(claim), classAnnotation(old)];
  const moves = old.spec?.storageClassName === undefined && claim.spec?.storageClassName === before && now === '';
  if (!moves && now !== before)
    field.at('metadata').at('annotations').at(CLASS_ANNOTATION).invalid(now, FIELD_IMMUTABLE_TEXT);
}

/** A claim never changes but to bind, and to grow once bound. */
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
