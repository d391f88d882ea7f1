/** Validation of resource names and amounts. Upstream: apis/core/helper, apis/core/validation. */
import type { Field } from '../field-error.ts';
import { isQualifiedName } from '../names.ts';
import { tryParseQuantity } from '../quantity.ts';
import { validateNonnegativeQuantity } from './common.ts';

/** Objects that quotas can count. */
const COUNTED = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];
const OF_CONTAINERS = ['cpu', 'memory', 'ephemeral-storage'];
const ofQuotas = [
  ...COUNTED,
  ...OF_CONTAINERS.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
  'requests.storage',
];
const countedNames: ReadonlySet<string> = new Set(COUNTED);
const quotaNames: ReadonlySet<string> = new Set(ofQuotas);
const standardNames: ReadonlySet<string> = new Set([...ofQuotas, 'storage']);
const containerNames: ReadonlySet<string> = new Set(OF_CONTAINERS);

export const HUGE_PAGES_PREFIX = 'hugepages-';

export function isHugePages(name: string): boolean {
  return name.startsWith(HUGE_PAGES_PREFIX);
}

function isHugePagesOfQuota(name: string): boolean {
  return isHugePages(name) || name.startsWith(`requests.${HUGE_PAGES_PREFIX}`);
}

/** Whether the name has no domain, or one of Kubernetes. */
export function isNativeResource(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

/** Whether the name has a domain of its own, as devices do, also when written as a quota's `requests.` name. */
export function isExtendedResource(name: string): boolean {
  return !isNativeResource(name) && !name.startsWith('requests.') && isQualifiedName(`requests.${name}`).length === 0;
}

/** Whether the sum of limits may exceed the node's capacity. */
export function isOvercommitAllowed(name: string): boolean {
  return isNativeResource(name) && !isHugePages(name);
}

/** Whether a quota supports the name itself. */
export function isQuotaResource(name: string): boolean {
  return quotaNames.has(name) || isHugePagesOfQuota(name);
}

/** Validates a resource name in any place. Returns false for an invalid one. */
export function validateResourceName(name: string, field: Field): boolean {
  const problems = isQualifiedName(name);
  field.complain(name, problems);
  if (problems.length > 0) return false;
  if (name.includes('/') || standardNames.has(name) || isHugePagesOfQuota(name)) return true;
  field.invalid(name, 'must be a standard resource type or fully qualified');
  return false;
}

/** Validates the name of a resource that containers request. */
export function validateContainerResourceName(name: string, field: Field): void {
  validateResourceName(name, field);
  if (!name.includes('/')) {
    if (!containerNames.has(name) && !isHugePages(name))
      field.invalid(name, 'must be a standard resource for containers');
  } else if (!isNativeResource(name) && !isExtendedResource(name)) {
    field.invalid(name, "doesn't follow extended resource name standard");
  }
}

export function validateQuotaResourceName(name: string, field: Field): void {
  validateResourceName(name, field);
  if (!name.includes('/') && !isQuotaResource(name)) field.invalid(name, 'must be a standard resource for quota');
}

/** Validates an amount: not negative, and whole for countable resources. */
export function validateResourceQuantity(name: string, quantity: string, field: Field): void {
  validateNonnegativeQuantity(quantity, field);
  const parsed = tryParseQuantity(quantity);
  const isWhole = countedNames.has(name) || isExtendedResource(name);
  if (parsed !== undefined && isWhole && parsed.nanos % 1_000_000_000n !== 0n)
    field.invalid(quantity, 'must be an integer');
}
