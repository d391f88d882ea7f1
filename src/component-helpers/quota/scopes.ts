/**
 * Matches objects against the scopes of quotas. A quota may have thousands of requirements, which are merged by scope
 * once, so that an object is matched against one set per scope. Upstream: apiserver/pkg/quota/v1/generic (Matches),
 * core/v1/helper (ScopedResourceSelectorRequirementsAsSelector).
 */
import type { ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '../../api/gen/core-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { QuotaEvaluator } from './evaluator.ts';

/** The scopes of a quota in a common form. */
export function scopesOf(spec: ResourceQuotaSpec): readonly ScopedResourceSelectorRequirement[] {
  return [
    ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ];
}

/** Whether the object is in the scope. */
export function inScope(
  evaluator: QuotaEvaluator,
  requirement: ScopedResourceSelectorRequirement,
  object: KubernetesObject,
): boolean {
  return isMet(evaluator.scope(requirement.scopeName, object), new ClassRequirements([requirement]));
}

/** Whether the object is in all scopes of the quota. */
export function inScopes(evaluator: QuotaEvaluator, spec: ResourceQuotaSpec, object: KubernetesObject): boolean {
  for (const [scopeName, requirements] of mergedScopes(spec))
    if (!isMet(evaluator.scope(scopeName, object), requirements)) return false;
  return true;
}

function isMet(found: boolean | string, requirements: ClassRequirements): boolean {
  return typeof found === 'string' ? requirements.matches(found) : found;
}

/** The requirements of one scope on the name of a class (of priority, of volume attributes). */
class ClassRequirements {
  /** Undefined: any name. */
  #allowed: ReadonlySet<string> | undefined;
  readonly #excluded = new Set<string>();

  constructor(requirements: readonly ScopedResourceSelectorRequirement[]) {
    for (const { operator, values = [] } of requirements) this.#add(operator, values);
  }

  #add(operator: string, values: readonly string[]): void {
    if (operator === 'NotIn') for (const value of values) this.#excluded.add(value);
    else if (operator === 'Exists') this.#excluded.add('');
    else this.#allow(operator === 'In' ? values : operator === 'DoesNotExist' ? [''] : []);
  }

  #allow(values: readonly string[]): void {
    const before = this.#allowed;
    this.#allowed = new Set(before === undefined ? values : values.filter((value) => before.has(value)));
  }

  matches(name: string): boolean {
    return this.#allowed?.has(name) !== false && !this.#excluded.has(name);
  }
}

type MergedScopes = ReadonlyMap<string, ClassRequirements>;

/** By spec, since stored quotas do not change. */
const merged = new WeakMap<ResourceQuotaSpec, MergedScopes>();

function mergedScopes(spec: ResourceQuotaSpec): MergedScopes {
  let scopes = merged.get(spec);
  if (scopes === undefined) {
    const byName = Map.groupBy(scopesOf(spec), ({ scopeName }) => scopeName);
    scopes = new Map([...byName].map(([name, requirements]) => [name, new ClassRequirements(requirements)]));
    merged.set(spec, scopes);
  }
  return scopes;
}
