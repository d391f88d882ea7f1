/** Validation of quotas: their resources and scopes. Upstream: apis/core/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '../gen/core-v1.ts';
import { FIELD_IMMUTABLE_TEXT } from '../meta-validation.ts';
import { isQuotaResource, validateQuotaResourceName, validateResourceQuantity } from './resource-names.ts';

const COMPUTE = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];

const OF_PODS: ReadonlySet<string> = new Set(['pods', ...COMPUTE]);
const COUNT_OF_PODS: ReadonlySet<string> = new Set(['pods']);
const OF_CLAIMS: ReadonlySet<string> = new Set(['persistentvolumeclaims', 'requests.storage']);

/** Each scope with the quota resources that it can restrict. */
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

/** Scopes without values: a pod is in them or not. The others compare values. */
const WITHOUT_VALUES: ReadonlySet<string> = new Set([...OPPOSITES.flat(), 'CrossNamespacePodAffinity']);

type Amounts = Readonly<Record<string, string>>;

/** Amounts that are equal in `before` are not checked again. */
function validateAmounts(amounts: Amounts | undefined, field: Field, before: Amounts = {}): void {
  for (const [name, quantity] of Object.entries(amounts ?? {})) {
    if (Object.hasOwn(before, name) && before[name] === quantity) continue;
    validateQuotaResourceName(name, field.key(name));
    validateResourceQuantity(name, quantity, field.key(name));
  }
}

/** The quota resources that the scope cannot restrict; for an unknown scope, all of them. */
function unfitFor(scope: string, { spec }: ResourceQuota): readonly string[] {
  const fits = SCOPES.get(scope);
  // As upstream, an unknown scope is accepted with resources that no rule restricts.
  return Object.keys(spec?.hard ?? {}).filter((name) => isQuotaResource(name) && fits?.has(name) === false);
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
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
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

function validateSelector(quota: ResourceQuota, field: Field): void {
  const { scopes = [], scopeSelector } = quota.spec ?? {};
  const expressions = scopeSelector?.matchExpressions ?? [];
  for (const expression of expressions) {
    const { scopeName } = expression;
    if (!SCOPES.has(scopeName)) field.at('scopeName').invalid(scopeName, 'unsupported scope');
    for (const _ of unfitFor(scopeName, quota)) field.invalid(scopeSelector, 'unsupported scope applied to resource');
    validateRequirement(expression, field);
  }
  const named = expressions.map(({ scopeName }) => scopeName);
  // As upstream, the error quotes the scopes here, too.
  validateTogether(named, scopes, field);
}

export function validateResourceQuota(quota: ResourceQuota, field: Field): void {
  const spec = field.at('spec');
  validateAmounts(quota.spec?.hard, spec.at('hard'));
  const scopes = quota.spec?.scopes ?? [];
  for (const scope of scopes) {
    if (!SCOPES.has(scope)) spec.at('scopes').invalid(scopes, 'unsupported scope');
    for (const _ of unfitFor(scope, quota)) spec.at('scopes').invalid(scopes, 'unsupported scope applied to resource');
  }
  validateTogether(scopes, scopes, spec.at('scopes'));
  validateSelector(quota, spec.at('scopeSelector').at('matchExpressions'));
}

/** Validates the quota's counts. Admission changes a few of them, out of up to tens of thousands. */
export function validateResourceQuotaStatus(quota: ResourceQuota, old: ResourceQuota, field: Field): void {
  validateAmounts(quota.status?.hard, field.at('status').at('hard'), old.status?.hard);
  validateAmounts(quota.status?.used, field.at('status').at('used'), old.status?.used);
}

/** Validates an update of a quota: scopes are immutable. */
export function validateResourceQuotaUpdate(quota: ResourceQuota, old: ResourceQuota, field: Field): void {
  validateResourceQuota(quota, field);
  const scopes = quota.spec?.scopes ?? [];
  const sorted = (each: ResourceQuota): string[] => [...new Set(each.spec?.scopes)].sort();
  if (!deepEqual(sorted(quota), sorted(old))) field.at('spec').at('scopes').invalid(scopes, FIELD_IMMUTABLE_TEXT);
}
