/**
 * Whether rights that someone holds cover rights that are to be granted, and what is missing. Pure. Upstream:
 * component-helpers/auth/rbac/validation (Covers), rbac/validation (CompactRules) and rbac/v1 helpers (CompactString).
 */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';

/** The parts of `wanted` that no rule of `held` covers, broken down to single verbs and resources. Empty: all is covered. */
export function uncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(breakDown).filter((part) => !held.some((rule) => covers(rule, part)));
}

/** One rule for each combination a rule stands for. */
function breakDown(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = [];
  for (const group of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs) {
        const part: PolicyRule = { apiGroups: [group], resources: [resource], verbs: [verb] };
        const names = rule.resourceNames ?? [];
        if (names.length === 0) parts.push(part);
        for (const name of names) parts.push({ ...part, resourceNames: [name] });
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? [])
    for (const verb of rule.verbs) parts.push({ nonResourceURLs: [url], verbs: [verb] });
  return parts;
}

function covers(held: PolicyRule, part: PolicyRule): boolean {
  const names = held.resourceNames ?? [];
  return (
    all(part.verbs, (verb) => has(held.verbs, verb)) &&
    all(part.apiGroups, (group) => has(held.apiGroups, group)) &&
    all(part.resources, (resource) => coversResource(held.resources ?? [], resource)) &&
    all(part.nonResourceURLs, (url) => (held.nonResourceURLs ?? []).some((pattern) => coversUrl(pattern, url))) &&
    (names.length === 0 ||
      ((part.resourceNames ?? []).length > 0 && all(part.resourceNames, (name) => names.includes(name))))
  );
}

function all(values: readonly string[] | undefined, holds: (value: string) => boolean): boolean {
  return (values ?? []).every(holds);
}

function has(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list.includes('*') || list.includes(value));
}

function coversResource(held: readonly string[], resource: string): boolean {
  const slash = resource.indexOf('/');
  return held.includes('*') || held.includes(resource) || (slash >= 0 && held.includes(`*${resource.slice(slash)}`));
}

function coversUrl(pattern: string, url: string): boolean {
  return pattern === url || (pattern.endsWith('*') && url.startsWith(pattern.replace(/\*+$/, '')));
}

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
    const known = simple.get(key);
    simple.set(key, known === undefined ? rule : { ...known, verbs: [...known.verbs, ...rule.verbs] });
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
