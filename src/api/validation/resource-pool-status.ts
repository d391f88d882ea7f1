/** Validation of resource pool status requests. Upstream: apis/resource/validation, and tags in api/resource/v1alpha3. */
import type { Field } from '../field-error.ts';
import type { PoolStatus, ResourcePoolStatusRequest } from '../gen/resource-v1alpha3.ts';
import { isLongName, isLongNameCaseless } from '../names.ts';
import { validateConditions, validateImmutable } from './common.ts';
import { hasForbiddenChange, validateMaximum, validateMinimum, validateRequiredText } from './declared.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
const MAX_POOLS = 1000;
const MAX_CONDITIONS = 10;
const MAX_POOL_NAME_BYTES = 253;
const MAX_ERROR_BYTES = 256;

export function setResourcePoolStatusRequestDefaults({ spec }: ResourcePoolStatusRequest): void {
  if (spec !== undefined) spec.limit ??= DEFAULT_LIMIT;
}

/** A pool name is one or more DNS names separated by slashes. */
function validateDeclaredPoolName(name: string, field: Field): void {
  if (Buffer.byteLength(name) > MAX_POOL_NAME_BYTES) field.tooLong(MAX_POOL_NAME_BYTES);
  for (const [index, part] of name.split('/').entries()) {
    const before = `segment ${index}: `;
    if (part === '') field.invalid(name, `${before}must not be empty`);
    else
      field.complain(
        part,
        isLongName(part).map((complaint) => before + complaint),
      );
  }
}

/** Validates a request; `old` is set on updates. */
export function validateResourcePoolStatusRequest(
  { spec }: ResourcePoolStatusRequest,
  field: Field,
  old?: ResourcePoolStatusRequest,
): void {
  const at = field.at('spec');
  if (old !== undefined) {
    hasForbiddenChange(spec, old.spec, at);
    return;
  }
  validateRequiredText(spec?.driver, isLongNameCaseless, at.at('driver'));
  if (spec?.poolName !== undefined) validateDeclaredPoolName(spec.poolName, at.at('poolName'));
  validateMinimum(spec?.limit, 1, at.at('limit'));
  validateMaximum(spec?.limit, MAX_LIMIT, at.at('limit'));
}

/** The status is immutable once it is set. */
export function validateResourcePoolStatus(
  { status }: ResourcePoolStatusRequest,
  old: ResourcePoolStatusRequest,
  field: Field,
): void {
  const at = field.at('status');
  if (old.status !== undefined) return validateImmutable(status, old.status, at);
  if (status === undefined) return;
  const { conditions = [], pools = [], poolCount } = status;
  validateConditions(conditions, at.at('conditions'));
  if (poolCount === undefined) at.at('poolCount').required();
  else validateMinimum(poolCount, 0, at.at('poolCount'));
  if (pools.length > MAX_POOLS) at.at('pools').tooMany(pools.length, MAX_POOLS);
  else for (const [index, pool] of pools.entries()) validatePool(pool, at.at('pools').item(index));
  if (conditions.length > MAX_CONDITIONS) at.at('conditions').tooMany(conditions.length, MAX_CONDITIONS);
}

const COUNTS = ['totalDevices', 'allocatedDevices', 'availableDevices', 'unavailableDevices'] as const;

function validatePool(pool: PoolStatus, field: Field): void {
  validateRequiredText(pool.driver, isLongNameCaseless, field.at('driver'));
  if ((pool.poolName ?? '') === '') field.at('poolName').required();
  else validateDeclaredPoolName(pool.poolName, field.at('poolName'));
  // By upstream's declaration the field is required, so 0 counts as missing.
  if ((pool.generation ?? 0) === 0) field.at('generation').required();
  else validateMinimum(pool.generation, 0, field.at('generation'));
  validateMinimum(pool.resourceSliceCount, 1, field.at('resourceSliceCount'));
  for (const count of COUNTS) validateMinimum(pool[count], 0, field.at(count));
  if (pool.nodeName !== undefined) field.at('nodeName').complain(pool.nodeName, isLongName(pool.nodeName));
  if (Buffer.byteLength(pool.validationError ?? '') > MAX_ERROR_BYTES)
    field.at('validationError').tooLong(MAX_ERROR_BYTES);
}
