/**
 * Resources that may be used only with a covering quota: the configuration of the ResourceQuota plugin. Upstream:
 * resourcequota/apis and limitedByDefault in its controller.
 */
import { shown } from '../../../base/shown.ts';
import { isObject, type JsonObject } from '../../../api/codec/own-property.ts';
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '../../../api/gen/core-v1.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import type { QuotaEvaluator } from '../../../component-helpers/quota/evaluator.ts';
import { inScope, scopesOf } from '../../../component-helpers/quota/scopes.ts';
import type { Quantities } from '../../../component-helpers/quota/resource-lists.ts';

export interface LimitedResource {
  readonly apiGroup: string;
  readonly resource: string;
  /** A measured resource is limited when its name contains one of these. */
  readonly matchContains: readonly string[];
  /** Objects in one of these scopes are limited. */
  readonly matchScopes: readonly ScopedResourceSelectorRequirement[];
}

export interface Demand {
  readonly resource: { readonly group: string; readonly resource: string };
  readonly object: KubernetesObject;
  readonly evaluator: QuotaEvaluator;
  readonly usage: Quantities;
}

/**
 * The reason why the demand is refused, in upstream's text; undefined when quotas cover it. `covering`: the quotas
 * that apply to the object.
 */
export function limitedWithoutQuota(
  limited: readonly LimitedResource[],
  demand: Demand,
  quotas: { readonly all: readonly ResourceQuota[]; readonly covering: readonly ResourceQuota[] },
): string | undefined {
  const { resource, object, evaluator, usage } = demand;
  const mine = limited.filter((one) => one.resource === resource.resource && one.apiGroup === resource.group);
  if (mine.length === 0) return undefined;
  const fragments = mine.flatMap(({ matchContains }) => matchContains);
  const covered = (name: string): boolean =>
    quotas.covering.some(({ status }) => Object.hasOwn(status?.hard ?? {}, name));
  const names = Object.keys(usage).filter(
    (name) =>
      compareQuantities(usage[name]!, '0') > 0 &&
      fragments.some((fragment) => name.includes(fragment)) &&
      !covered(name),
  );
  if (names.length > 0) return `insufficient quota to consume: ${names.toSorted().join(',')}`;
  const isIn = (scope: ScopedResourceSelectorRequirement): boolean => inScope(evaluator, scope, object);
  const scopes = mine.flatMap(({ matchScopes }) => matchScopes.filter(isIn));
  if (scopes.length === 0) return undefined;
  const matched = new Set(
    quotas.all.flatMap(({ spec }) => scopesOf(spec ?? {}).filter(isIn)).map(({ scopeName }) => scopeName),
  );
  const free = scopes.filter(({ scopeName }) => !matched.has(scopeName));
  if (free.length === 0) return undefined;
  const texts = free.map(({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(' ')}]}`);
  return `insufficient quota to match these scopes: [${texts.join(' ')}]`;
}

const KINDS = [
  'apiserver.config.k8s.io/v1 ResourceQuotaConfiguration',
  'resourcequota.admission.k8s.io/v1beta1 Configuration',
];
const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** Reads the plugin's configuration. Throws an Error that names the mistake. */
export function readLimitedResources(own: JsonObject): LimitedResource[] {
  const kind = `${shown(own['apiVersion'])} ${shown(own['kind'])}`;
  if (!KINDS.includes(kind)) throw new Error(`${kind} is not ${KINDS[0]}`);
  const listOf = (value: unknown, place: string): unknown[] => {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw new Error(`${place} is not a list`);
    return value;
  };
  return listOf(own['limitedResources'], 'limitedResources').map((one, index) => {
    const place = `limitedResources[${index}]`;
    const { apiGroup = '', resource, matchContains, matchScopes } = isObject(one) ? one : {};
    if (typeof resource !== 'string' || resource === '') throw new Error(`${place}.resource: Required value`);
    const scopes = listOf(matchScopes, `${place}.matchScopes`).map((scope, at) => {
      const { scopeName, operator, values } = isObject(scope) ? scope : {};
      if (typeof scopeName !== 'string' || !OPERATORS.includes(String(operator)))
        throw new Error(`${place}.matchScopes[${at}]: scopeName and one of ${OPERATORS.join(', ')} are required`);
      const texts = listOf(values, `${place}.matchScopes[${at}].values`).map(String);
      return { scopeName, operator: String(operator), values: texts.length > 0 ? texts : undefined };
    });
    const fragments = listOf(matchContains, `${place}.matchContains`).map(String);
    return { apiGroup: String(apiGroup), resource, matchContains: fragments, matchScopes: scopes };
  });
}
