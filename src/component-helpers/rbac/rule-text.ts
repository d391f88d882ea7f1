/**
 * Rules as text, for the permissions that a grant lacks. Pure. Upstream: rbac/validation (CompactRules), rbac/v1
 * helpers (CompactString).
 */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';

/** Joins rules for one resource (and name) that differ in verbs only. */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const others: PolicyRule[] = [];
  const simple = new Map<string, PolicyRule>();
  for (const rule of rules) {
    const isSimple =
      (rule.nonResourceURLs ?? []).length === 0 &&
      rule.apiGroups?.length === 1 &&
      rule.resources?.length === 1 &&
      (rule.resourceNames ?? []).length <= 1;
    if (!isSimple) {
      others.push(rule);
      continue;
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames ?? []]);
    const policyRule = simple.get(key);
    simple.set(key, policyRule === undefined ? rule : { ...policyRule, verbs: [...policyRule.verbs, ...rule.verbs] });
  }
  return [...others, ...simple.values()];
}

/** `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`. */
export function ruleText(rule: PolicyRule): string {
  const parts = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ] as const;
  return `{${parts
    .filter(([, values]) => values !== undefined && values.length > 0)
    .map(([name, values]) => `${name}:${quotedList(values ?? [])}`)
    .join(', ')}}`;
}

/** A list as Go prints it with `%q`. */
export function quotedList(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;
}
