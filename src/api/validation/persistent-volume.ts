/** Validation of persistent volumes. Upstream: apis/core/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { PersistentVolume, PersistentVolumeSpec } from '../gen/core-v1.ts';
import { isDns1123Subdomain } from '../names.ts';
import { quantityValue, tryParseQuantity } from '../quantity.ts';
import { validateImmutable, validateOptionalChoice } from './common.ts';
import { PERSISTENT_VOLUME_SOURCES, validatePersistentVolumeSource } from './persistent-volume-source.ts';
import { validateNodeSelector } from './selectors.ts';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const VOLUME_MODES = ['Block', 'Filesystem'];
const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain'];
export function validateAccessModes(modes: readonly string[], field: Field): void {
  for (const mode of modes) if (!ACCESS_MODES.includes(mode)) field.notSupported(mode, ACCESS_MODES);
  const others = modes.filter((mode) => mode !== 'ReadWriteOncePod' && ACCESS_MODES.includes(mode));
  if (modes.includes('ReadWriteOncePod') && others.length > 0)
    field.forbidden('may not use ReadWriteOncePod with other access modes');
}

export function validatePositiveQuantity(quantity: string, field: Field): void {
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
  validatePersistentVolumeSource(spec, volume.metadata?.name, place);
  if (policy === 'Recycle' && isRootPath(spec.hostPath?.path ?? ''))
    place.at('persistentVolumeReclaimPolicy').forbidden("may not be 'recycle' for a hostPath mount of '/'");
  validateClassName(spec.storageClassName, place.at('storageClassName'));
  validateOptionalChoice(spec.volumeMode, VOLUME_MODES, place.at('volumeMode'));
  validateAttributesClass(spec, place);
}

/** Whether an absolute path is `/` after `.` and `..` are resolved. Upstream: path.Clean. */
function isRootPath(path: string): boolean {
  let depth = 0;
  for (const part of path.split('/'))
    if (part === '..') depth = Math.max(0, depth - 1);
    else if (part !== '' && part !== '.') depth++;
  return path.startsWith('/') && depth === 0;
}

const INLINE_TEXT = 'in the context of inline volumes';

/** Validates the inline volume of an attachment without a persistent volume: a CSI source and few other fields. */
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
  validatePersistentVolumeSource(spec, undefined, field);
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

/** Validates the name of a storage class, which may be absent. */
export function validateClassName(name: string | undefined, field: Field): void {
  if ((name ?? '') !== '') field.complain(name, isDns1123Subdomain(name!));
}

/** The source for comparison; adding an expansion secret to a CSI source is no change. */
function sourceOf(spec: PersistentVolumeSpec | undefined, old?: PersistentVolumeSpec): unknown {
  const sources = PERSISTENT_VOLUME_SOURCES.map((source) => spec?.[source]);
  if (spec?.csi === undefined || old?.csi === undefined || old.csi.controllerExpandSecretRef !== undefined)
    return sources;
  const { controllerExpandSecretRef: _added, ...csi } = spec.csi;
  return sources.map((source) => (source === spec.csi ? csi : source));
}

/** The source of a volume is immutable. */
export function validatePersistentVolumeUpdate(volume: PersistentVolume, old: PersistentVolume, field: Field): void {
  validatePersistentVolume(volume, field);
  const spec = field.at('spec');
  if (!deepEqual(sourceOf(volume.spec, old.spec), sourceOf(old.spec)))
    spec.at('persistentvolumesource').forbidden('spec.persistentvolumesource is immutable after creation');
  // As upstream, these two paths lack the spec.
  validateImmutable(volume.spec?.volumeMode, old.spec?.volumeMode, field.at('volumeMode'));
  const { nodeAffinity } = volume.spec ?? {};
  if (old.spec?.nodeAffinity !== undefined && !deepEqual(nodeAffinity, old.spec.nodeAffinity))
    field.at('nodeAffinity').invalid(nodeAffinity, 'field is immutable, except for updating from beta label to GA');
  if (old.spec?.volumeAttributesClassName !== undefined && volume.spec?.volumeAttributesClassName === undefined)
    spec.at('volumeAttributesClassName').forbidden('update from non-nil value to nil is forbidden');
}
