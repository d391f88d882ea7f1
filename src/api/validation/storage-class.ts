/** Validation of storage classes and volume attributes classes. Upstream: apis/storage/validation. */
import { deepEqual } from '../../base/equal.ts';
import { stableStringify } from '../../base/stable-json.ts';
import { MAX_FIELD_ERRORS, type Field } from '../field-error.ts';
import type { TopologySelectorTerm } from '../gen/core-v1.ts';
import type { StorageClass, VolumeAttributesClass } from '../gen/storage-v1.ts';
import { validateLabelName } from '../meta-validation.ts';
import { isQualifiedName } from '../names.ts';
import { validateImmutable } from './common.ts';

const MAX_PARAMETERS = 512;
const MAX_PARAMETERS_BYTES = 256 * 1024;

type Parameters = Readonly<Record<string, string>>;

function validateParameters(parameters: Parameters, field: Field): void {
  const entries = Object.entries(parameters);
  if (entries.length > MAX_PARAMETERS) return field.tooLong(MAX_PARAMETERS);
  let total = 0;
  for (const [key, value] of entries) {
    if (key === '') field.invalid(key, 'field can not be empty.');
    total += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (total > MAX_PARAMETERS_BYTES) field.tooLong(MAX_PARAMETERS_BYTES);
}

function validateProvisioner(name: string, field: Field): void {
  if (name === '') field.required();
  else field.complain(name.toLowerCase(), isQualifiedName(name.toLowerCase()));
}

/** The keys of a term with their values, for a comparison that ignores order. */
function valuesByKey({ matchLabelExpressions }: TopologySelectorTerm): object {
  return Object.fromEntries(
    (matchLabelExpressions ?? []).map(({ key, values }) => [key, [...new Set(values)].toSorted()]),
  );
}

function validateTopologyTerm({ matchLabelExpressions }: TopologySelectorTerm, field: Field): void {
  const keys = new Set<string>();
  for (const [index, { key, values = [] }] of (matchLabelExpressions ?? []).entries()) {
    const place = field.item(index);
    if (values.length === 0) place.at('values').required();
    const seen = new Set<string>();
    for (const [at, value] of values.entries()) {
      if (seen.has(value)) place.at('values').item(at).duplicate(value);
      seen.add(value);
    }
    validateLabelName(key ?? '', place.at('key'));
    if (keys.has(key)) place.at('key').duplicate(key);
    keys.add(key);
  }
}

/** Adds an error for each earlier equal term. Upstream also compares each term with as many empty terms as the list has. */
function validateTopologies(terms: readonly TopologySelectorTerm[], field: Field): void {
  const timesSeen = new Map([[EMPTY_TERM, terms.length]]);
  for (const [index, term] of terms.entries()) {
    const place = field.item(index).at('matchLabelExpressions');
    validateTopologyTerm(term, place);
    const own = stableStringify(valuesByKey(term));
    const times = timesSeen.get(own) ?? 0;
    for (let left = times; left > 0 && field.errors.length < MAX_FIELD_ERRORS; left--) place.duplicate('');
    timesSeen.set(own, times + 1);
  }
}

const EMPTY_TERM = stableStringify({});

export function validateStorageClass(storageClass: StorageClass, field: Field): void {
  const { provisioner = '', parameters = {}, reclaimPolicy, volumeBindingMode, allowedTopologies = [] } = storageClass;
  validateProvisioner(provisioner, field.at('provisioner'));
  validateParameters(parameters, field.at('parameters'));
  if ((reclaimPolicy ?? '') !== '' && reclaimPolicy !== 'Delete' && reclaimPolicy !== 'Retain')
    field.at('reclaimPolicy').notSupported(reclaimPolicy, ['Delete', 'Retain']);
  const modes = ['Immediate', 'WaitForFirstConsumer'];
  if (volumeBindingMode === undefined) field.at('volumeBindingMode').required();
  else if (!modes.includes(volumeBindingMode)) field.at('volumeBindingMode').notSupported(volumeBindingMode, modes);
  validateTopologies(allowedTopologies, field.at('allowedTopologies'));
}

/** Fields that provisioned volumes depend on are immutable. */
export function validateStorageClassUpdate(storageClass: StorageClass, old: StorageClass, field: Field): void {
  validateStorageClass(storageClass, field);
  for (const name of ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const)
    validateImmutable(storageClass[name], old[name], field.at(name));
}

export function validateVolumeAttributesClass(attributes: VolumeAttributesClass, field: Field): void {
  validateProvisioner(attributes.driverName ?? '', field.at('driverName'));
  const { parameters = {} } = attributes;
  validateParameters(parameters, field.at('parameters'));
  if (Object.keys(parameters).length === 0) field.at('parameters').required('must contain at least one key/value pair');
}

/** A volume attributes class is immutable. */
export function validateVolumeAttributesClassUpdate(
  attributes: VolumeAttributesClass,
  old: VolumeAttributesClass,
  field: Field,
): void {
  for (const name of ['driverName', 'parameters'] as const)
    if (!deepEqual(attributes[name], old[name])) field.at(name).forbidden(`updates to ${name} are forbidden.`);
  validateVolumeAttributesClass(attributes, field);
}
