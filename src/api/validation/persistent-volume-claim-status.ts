/** Validation of claims' statuses. Upstream: apis/core/validation ValidatePersistentVolumeClaimStatusUpdate. */
import type { Field } from '../field-error.ts';
import type { PersistentVolumeClaim } from '../gen/core-v1.ts';
import { quantityValue, tryParseQuantity } from '../quantity.ts';
import { isQualifiedName } from '../names.ts';
import { isNativeResource, validateResourceQuantity } from './resource-names.ts';

const RESIZE_STATUSES = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
];

export function validatePersistentVolumeClaimStatus(
  { spec, status }: PersistentVolumeClaim,
  _old: PersistentVolumeClaim,
  field: Field,
): void {
  // As upstream, this path begins with a capital letter.
  if ((spec?.accessModes ?? []).length === 0) field.at('Spec').at('accessModes').required();
  const place = field.at('status');
  for (const [name, quantity] of Object.entries(status?.capacity ?? {}))
    validateBasic(quantity, place.at('capacity').key(name));
  const statuses = place.at('allocatedResourceStatuses');
  for (const [name, value] of Object.entries(status?.allocatedResourceStatuses ?? {})) {
    validateKey(name, statuses);
    if (!RESIZE_STATUSES.includes(value)) statuses.notSupported(name, RESIZE_STATUSES);
  }
  for (const [name, quantity] of Object.entries(status?.allocatedResources ?? {})) {
    const at = place.at('allocatedResources');
    if (validateKey(name, at) && validateBasic(quantity, at.key(name)))
      validateResourceQuantity('storage', quantity, at.key(name));
  }
}

function validateBasic(quantity: string, field: Field): boolean {
  const value = tryParseQuantity(quantity) === undefined ? 0 : quantityValue(quantity);
  if (value < 0) field.invalid(value, 'must be a valid resource quantity');
  return value >= 0;
}

/** The key must be `storage`, or a resource of another domain. */
function validateKey(name: string, field: Field): boolean {
  const problems = isQualifiedName(name);
  field.complain(name, problems);
  const isUnknown = problems.length === 0 && isNativeResource(name) && name !== 'storage';
  if (isUnknown) field.notSupported(name, ['storage']);
  return problems.length === 0 && !isUnknown;
}
