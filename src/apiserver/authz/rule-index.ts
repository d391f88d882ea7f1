/**
 * Whether rules of a role allow a request. Long roles are indexed once per role object: a request reads the rules
 * that name its verb, its group or its resource, whichever are fewest. A role of three megabytes may have 50,000
 * rules.
 */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { type AccessQuestion, ruleAllows } from '../../component-helpers/rbac/rule-matching.ts';

/** Up to this number, trying every rule takes less time than an index. */
const FEW_RULES = 32;

/** The rules that name a value. */
type Postings = ReadonlyMap<string, readonly PolicyRule[]>;

interface RuleIndex {
  readonly verbs: Postings;
  readonly groups: Postings;
  readonly resources: Postings;
}

const indexes = new WeakMap<readonly PolicyRule[], RuleIndex>();

/** @param rules of a stored role, which are never changed */
export function rulesAllow(rules: readonly PolicyRule[], attributes: AccessQuestion): boolean {
  if (rules.length <= FEW_RULES) return rules.some((rule) => ruleAllows(rule, attributes));
  let index = indexes.get(rules);
  if (index === undefined) indexes.set(rules, (index = indexOf(rules)));
  return candidates(index, attributes).some((list) => list.some((rule) => ruleAllows(rule, attributes)));
}

function indexOf(rules: readonly PolicyRule[]): RuleIndex {
  return {
    verbs: postings(rules, ({ verbs }) => verbs),
    groups: postings(rules, ({ apiGroups }) => apiGroups),
    resources: postings(rules, ({ resources }) => resources),
  };
}

function postings(
  rules: readonly PolicyRule[],
  valuesOf: (rule: PolicyRule) => readonly string[] | undefined,
): Postings {
  const found = new Map<string, PolicyRule[]>();
  for (const rule of rules)
    for (const value of new Set(valuesOf(rule))) {
      const policyRules = found.get(value);
      if (policyRules === undefined) found.set(value, [rule]);
      else policyRules.push(rule);
    }
  return found;
}

type Lists = readonly (readonly PolicyRule[])[];

function candidates(index: RuleIndex, attributes: AccessQuestion): Lists {
  const byVerb = listsOf(index.verbs, [attributes.verb, '*']);
  if (!attributes.isResourceRequest) return byVerb;
  const { resource, subresource } = attributes;
  const resources = subresource === '' ? [resource, '*'] : [`${resource}/${subresource}`, `*/${subresource}`, '*'];
  return [byVerb, listsOf(index.groups, [attributes.apiGroup, '*']), listsOf(index.resources, resources)].reduce(
    shorter,
  );
}

function listsOf(index: Postings, values: readonly string[]): Lists {
  return values.flatMap((value) => {
    const rules = index.get(value);
    return rules === undefined ? [] : [rules];
  });
}

function shorter(a: Lists, b: Lists): Lists {
  return lengthOf(b) < lengthOf(a) ? b : a;
}

function lengthOf(lists: Lists): number {
  return lists.reduce((sum, { length }) => sum + length, 0);
}
