/**
 * Whether a request concerns a webhook or policy, and as which resource: with matchPolicy Equivalent a rule for another
 * version of the same stored kind matches too, and objects are then shown in that version. Upstream:
 * apiserver/pkg/admission/plugin/policy/matching and webhook/generic.
 */
import type { NamedRuleWithOperations } from '../../api/gen/admissionregistration-v1.ts';
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { ResourceRegistry } from '../generic-registry/resource-registry.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { AdmissionAttributes } from '../admission/contract.ts';
import { equivalentsOf } from './equivalent-resources.ts';
import { ruleMatches, type RuleSubject } from './rules-matcher.ts';
import { namespaceOf, namespaceSelected, objectSelected } from './selectors.ts';

/** The match constraints of a policy or a binding. */
export interface MatchCriteria {
  /** Absent or empty: every request matches. */
  readonly resourceRules?: readonly NamedRuleWithOperations[];
  readonly excludeResourceRules?: readonly NamedRuleWithOperations[];
  /** Default Equivalent. */
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
}

export interface MatchDeps {
  readonly registry: ResourceRegistry;
  readonly objects: () => ObjectStore;
}

/** The resource as which a request matched a webhook or policy. */
export interface MatchedResource {
  /** The request's resource. */
  readonly requested: GenericStore;
  /** The version a rule names. */
  readonly matched: GenericStore;
}

/** The match of a request, or undefined. Rejects with 404 when the namespace that a selector needs does not exist. */
export async function matchRequest(
  criteria: MatchCriteria | undefined,
  attributes: AdmissionAttributes,
  { registry, objects }: MatchDeps,
): Promise<MatchedResource | undefined> {
  const requested = registry.known(attributes.resource);
  if (requested === undefined) return undefined;
  if (criteria === undefined) return { requested, matched: requested };
  if (!objectSelected(compileLabelSelector(criteria.objectSelector ?? {}), attributes)) return undefined;
  const { resourceRules: rules = [], excludeResourceRules: excluded = [], matchPolicy } = criteria;
  const place = { requested, registry };
  if (matchingVersion({ rules: excluded, matchPolicy }, attributes, place) !== undefined) return undefined;
  const matched = rules.length === 0 ? requested : matchingVersion({ rules, matchPolicy }, attributes, place);
  if (matched === undefined) return undefined;
  const namespaces = compileLabelSelector(criteria.namespaceSelector ?? {});
  return (await namespaceSelected(namespaces, attributes, objects())) ? { requested, matched } : undefined;
}

/** The version of the resource some rule names: the request's own first. */
export function matchingVersion(
  {
    rules,
    matchPolicy,
  }: { readonly rules: readonly NamedRuleWithOperations[]; readonly matchPolicy: string | undefined },
  attributes: AdmissionAttributes,
  { requested, registry }: { readonly requested: GenericStore; readonly registry: ResourceRegistry },
): GenericStore | undefined {
  const { operation, subresource, name } = attributes;
  const namespace = namespaceOf(attributes);
  const subjectOf = ({ info }: GenericStore): RuleSubject => ({
    operation,
    resource: info,
    subresource,
    namespace,
    name,
  });
  const subject = subjectOf(requested);
  if (rules.some((rule) => ruleMatches(rule, subject))) return requested;
  if (matchPolicy === 'Exact' || rules.length === 0) return undefined;
  const [, ...others] = equivalentsOf(registry, requested);
  for (const rule of rules) {
    const genericStore = others.find((other) => ruleMatches(rule, subjectOf(other)));
    if (genericStore !== undefined) return genericStore;
  }
  return undefined;
}
