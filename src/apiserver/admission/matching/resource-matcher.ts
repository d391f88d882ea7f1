/**
 * Whether a request concerns a webhook or policy, and as which resource: with matchPolicy Equivalent a rule for another
 * version of the same stored kind matches too, and the object is handed over in that version. Upstream:
 * apiserver/pkg/admission/plugin/policy/matching and webhook/generic.
 */
import type { NamedRuleWithOperations } from '../../../api/gen/admissionregistration-v1.ts';
import type { LabelSelector } from '../../../api/gen/meta-v1.ts';
import type { ResourceInfo } from '../../../api/resource-info.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes } from '../contract.ts';
import { ruleMatches, type RuleSubject } from './rules-matcher.ts';
import { namespaceSelected, objectSelected } from './selectors.ts';

/** What a webhook, a policy or a binding says of requests it wants. */
export interface MatchCriteria {
  /** Absent: every request. */
  readonly rules?: readonly NamedRuleWithOperations[];
  readonly excludeRules?: readonly NamedRuleWithOperations[];
  /** Default Equivalent. */
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
}

/** What matching needs of the server. */
export interface MatchDeps {
  readonly objects: () => ObjectStore;
  /** Other resources whose objects are the same stored ones, in order of preference. */
  readonly equivalents: (resource: ResourceInfo) => readonly ResourceInfo[];
}

/** The resource as which a request matches, or undefined. Rejects when its namespace does not exist. */
export async function matchRequest(
  criteria: MatchCriteria,
  attributes: AdmissionAttributes,
  deps: MatchDeps,
): Promise<ResourceInfo | undefined> {
  if (!objectSelected(criteria.objectSelector, attributes)) return undefined;
  // Rules before the namespace selector: the latter may have to ask the store.
  const resource = matchRules(criteria, attributes, deps);
  if (resource === undefined) return undefined;
  const selected = await namespaceSelected(criteria.namespaceSelector, attributes, deps.objects());
  return selected ? resource : undefined;
}

function matchRules(
  criteria: MatchCriteria,
  attributes: AdmissionAttributes,
  deps: MatchDeps,
): ResourceInfo | undefined {
  const { rules, excludeRules = [] } = criteria;
  const equivalent = criteria.matchPolicy !== 'Exact';
  if (ruleResource(excludeRules, attributes, { ...deps, equivalent }) !== undefined) return undefined;
  if (rules === undefined || rules.length === 0) return attributes.resource as ResourceInfo;
  return ruleResource(rules, attributes, { ...deps, equivalent });
}

/** The resource as which some rule covers the request: itself first. */
function ruleResource(
  rules: readonly NamedRuleWithOperations[],
  attributes: AdmissionAttributes,
  deps: MatchDeps & { readonly equivalent: boolean },
): ResourceInfo | undefined {
  if (rules.length === 0) return undefined;
  const covers = (resource: ResourceInfo): boolean => {
    const subject = subjectOf(attributes, resource);
    return rules.some((rule) => ruleMatches(rule, subject));
  };
  const own = attributes.resource as ResourceInfo;
  if (covers(own)) return own;
  return deps.equivalent ? deps.equivalents(own).find(covers) : undefined;
}

function subjectOf(attributes: AdmissionAttributes, resource: ResourceInfo): RuleSubject {
  const { operation, subresource, namespace, name } = attributes;
  return { operation, resource, subresource, namespace, name };
}
