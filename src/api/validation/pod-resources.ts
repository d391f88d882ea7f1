/** Resource requirements. Upstream: apis/core/validation ValidateResourceRequirements. */
import type { Field } from '../field-error.ts';
import type { ResourceRequirements } from '../gen/core-v1.ts';
import { isQualifiedName } from '../names.ts';
import { compareQuantities, tryParseQuantity } from '../quantity.ts';
import { validateNonnegativeQuantity } from './common.ts';

const NATIVE = new Set(['cpu', 'memory', 'ephemeral-storage']);

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

/** Resources of devices and such: whole numbers that cannot be promised twice. */
export function isExtendedResource(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}

function validateName(name: string, field: Field): void {
  field.complain(name, isQualifiedName(name));
  if (name.includes('/') || NATIVE.has(name) || isHugePages(name)) return;
  field.invalid(name, 'must be a standard resource type or fully qualified');
  field.invalid(name, 'must be a standard resource for containers');
}

function validateQuantity(name: string, quantity: string, field: Field): void {
  validateNonnegativeQuantity(quantity, field);
  const parsed = tryParseQuantity(quantity);
  if (parsed !== undefined && isExtendedResource(name) && parsed.nanos % 1_000_000_000n !== 0n)
    field.invalid(quantity, 'must be an integer');
}

/** Limits and requests of a container or pod, and claims of the pod that `claims` names. */
export function validateResourceRequirements(
  resources: ResourceRequirements | undefined,
  claims: ReadonlySet<string>,
  field: Field,
): void {
  if (resources === undefined) return;
  const { limits = {}, requests = {} } = resources;
  for (const [name, quantity] of Object.entries(limits)) {
    validateName(name, field.at('limits').key(name));
    validateQuantity(name, quantity, field.at('limits').key(name));
  }
  for (const [name, quantity] of Object.entries(requests)) {
    validateName(name, field.at('requests').key(name));
    validateQuantity(name, quantity, field.at('requests').key(name));
    validateAgainstLimit(name, { request: quantity, limit: limits[name] }, field);
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory'))
    field.forbidden('HugePages require cpu or memory');
  for (const [index, claim] of (resources.claims ?? []).entries()) {
    const place = field.at('claims').item(index);
    if ((claim.name ?? '') === '') place.required();
    else if (!claims.has(claim.name)) place.notFound(claim.name);
  }
}

function validateAgainstLimit(
  name: string,
  { request, limit }: { request: string; limit: string | undefined },
  field: Field,
): void {
  const exclusive = isExtendedResource(name) || isHugePages(name);
  if (limit === undefined) {
    if (exclusive) field.at('limits').required('Limit must be set for non overcommitable resources');
    return;
  }
  if (tryParseQuantity(request) === undefined || tryParseQuantity(limit) === undefined) return;
  const order = compareQuantities(request, limit);
  if (exclusive && order !== 0) field.at('requests').invalid(request, `must be equal to ${name} limit of ${limit}`);
  else if (order > 0) field.at('requests').invalid(request, `must be less than or equal to ${name} limit of ${limit}`);
}
