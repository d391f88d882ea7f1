/** Quotas: the resources they name, and which scopes go with them. Upstream: apis/core/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '../gen/core-v1.ts';
import { FIELD_IMMUTABLE_TEXT } from '../meta-validation.ts';
import { isQualifiedName } from '../names.ts';
import { tryParseQuantity } from '../quantity.ts';
import { validateNonnegativeQuantity } from './common.ts';
import { isExtendedResource } from './pod-resources.ts';

const COUNTED: ReadonlySet<string> = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]);

const COMPUTE = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];

const MEASURED: ReadonlySet<string> = new Set([
  ...COMPUTE,
  'ephemeral-storage',
  'requests.ephemeral-storage',
  'limits.ephemeral-storage',
  'requests.storage',
]);

const OF_PODS: ReadonlySet<string> = new Set(['pods', ...COMPUTE]);
const COUNT_OF_PODS: ReadonlySet<string> = new Set(['pods']);
const OF_CLAIMS: ReadonlySet<string> = new Set(['persistentvolumeclaims', 'requests.storage']);

/** Each scope with the resources of the quota's own names that it can narrow down. */
const SCOPES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['BestEffort', COUNT_OF_PODS],
  ['CrossNamespacePodAffinity', OF_PODS],
  ['NotBestEffort', OF_PODS],
  ['NotTerminating', OF_PODS],
  ['PriorityClass', OF_PODS],
  ['Terminating', OF_PODS],
  ['VolumeAttributesClass', OF_CLAIMS],
]);

const OPPOSITES = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

/** Scopes that a pod is in or is not; the others compare values. */
const WITHOUT_VALUES: ReadonlySet<string> = new Set([...OPPOSITES.flat(), 'CrossNamespacePodAffinity']);

function isStandard(name: string): boolean {
  return COUNTED.has(name) || MEASURED.has(name) || /^(requests\.)?hugepages-/.test(name);
}

function validateHard(name: string, quantity: string, field: Field): void {
  const problem = isQualifiedName(name);
  field.complain(name, problem);
  if (!name.includes('/') && !isStandard(name)) {
    if (problem.length === 0) field.invalid(name, 'must be a standard resource type or fully qualified');
    field.invalid(name, 'must be a standard resource for quota');
  }
  validateNonnegativeQuantity(quantity, field);
  const parsed = tryParseQuantity(quantity);
  if (parsed !== undefined && (COUNTED.has(name) || isExtendedResource(name)) && parsed.nanos % 1_000_000_000n !== 0n)
    field.invalid(quantity, 'must be an integer');
}

function problemsOfScope(scope: string, { spec }: ResourceQuota): readonly string[] {
  const fits = SCOPES.get(scope);
  if (fits === undefined) return ['unsupported scope'];
  const unfit = Object.keys(spec?.hard ?? {}).filter((resource) => isStandard(resource) && !fits.has(resource));
  return unfit.map(() => 'unsupported scope applied to resource');
}

function validateTogether(scopes: readonly string[], shown: unknown, field: Field): void {
  for (const [a, b] of OPPOSITES)
    if (scopes.includes(a) && scopes.includes(b)) field.invalid(shown, 'conflicting scopes');
}

function validateRequirement(
  { operator, scopeName, values = [] }: ScopedResourceSelectorRequirement,
  field: Field,
): void {
  if (WITHOUT_VALUES.has(scopeName) && operator !== 'Exists')
    field
      .at('operator')
      .invalid(
        operator,
        "must be 'Exist' only operator when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort and ResourceQuotaScopeCrossNamespacePodAffinity",
      );
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0)
      field.at('values').required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0)
      field
        .at('values')
        .invalid(values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector");
  } else field.at('operator').invalid(operator, 'not a valid selector operator');
}

/** A quota. */
export function validateResourceQuota(quota: ResourceQuota, field: Field): void {
  const spec = field.at('spec');
  for (const [name, quantity] of Object.entries(quota.spec?.hard ?? {}))
    validateHard(name, quantity, spec.at('hard').key(name));
  const scopes = quota.spec?.scopes ?? [];
  for (const scope of scopes) spec.at('scopes').complain(scopes, problemsOfScope(scope, quota));
  validateTogether(scopes, scopes, spec.at('scopes'));
  const expressions = quota.spec?.scopeSelector?.matchExpressions ?? [];
  const place = spec.at('scopeSelector').at('matchExpressions');
  for (const expression of expressions) {
    place.complain(expressions, problemsOfScope(expression.scopeName, quota));
    validateRequirement(expression, place);
  }
  const named = expressions.map(({ scopeName }) => scopeName);
  validateTogether(named, expressions, place);
}

/** An update of a quota: scopes stay. */
export function validateResourceQuotaUpdate(quota: ResourceQuota, old: ResourceQuota, field: Field): void {
  validateResourceQuota(quota, field);
  const scopes = quota.spec?.scopes ?? [];
  const sorted = (of: ResourceQuota): string[] => [...new Set(of.spec?.scopes)].sort();
  if (!deepEqual(sorted(quota), sorted(old))) field.at('spec').at('scopes').invalid(scopes, FIELD_IMMUTABLE_TEXT);
}
