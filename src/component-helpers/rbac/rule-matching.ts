/** Whether an RBAC rule covers a request. Pure. Upstream: pkg/registry/rbac/validation/rule.go and apis/rbac helpers. */
import { trimEndOf } from '../../base/trim-end.ts';
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';

/** The verb of a user's request on a resource, or on a path. */
export interface AccessQuestion {
  readonly verb: string;
  readonly isResourceRequest: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly path: string;
}

/** Whether the rule allows the request. */
export function ruleAllows(rule: PolicyRule, attributes: AccessQuestion): boolean {
  if (!attributes.isResourceRequest) {
    return (
      has(rule.verbs, attributes.verb) &&
      (rule.nonResourceURLs ?? []).some((pattern) => coversUrl(pattern, attributes.path))
    );
  }
  return (
    has(rule.verbs, attributes.verb) &&
    has(rule.apiGroups, attributes.apiGroup) &&
    resourceMatches(rule.resources ?? [], attributes.resource, attributes.subresource) &&
    (rule.resourceNames === undefined ||
      rule.resourceNames.length === 0 ||
      (attributes.name !== '' && rule.resourceNames.includes(attributes.name)))
  );
}

function has(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list.includes(value) || list.includes('*'));
}

function resourceMatches(resources: readonly string[], resource: string, subresource: string): boolean {
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some((r) => r === '*' || r === combined || (subresource !== '' && r === `*/${subresource}`));
}

/** Whether a rule's path, which may end in `*`, covers a path. */
export function coversUrl(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith('*') && path.startsWith(trimEndOf(pattern, '*')));
}
