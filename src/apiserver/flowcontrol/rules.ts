/**
 * Whether a flow schema's rules match a request. Upstream: util/flowcontrol/rule.go.
 *
 * One rule matches when one of its subjects does and one of its resource or non-resource rules does. A namespaced request
 * needs its namespace in the rule, any other one `clusterScope`.
 */
import type {
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '../../api/gen/flowcontrol-v1.ts';
import type { Principal } from '../../api/transport.ts';
import type { RequestInfo } from '../request-context.ts';

type MatchedRequest = Pick<
  RequestInfo,
  'isResourceRequest' | 'verb' | 'apiGroup' | 'resource' | 'subresource' | 'namespace' | 'path'
>;

/** Whether one of the rule's subjects is this user. */
export function subjectsMatch(rule: PolicyRulesWithSubjects, user: Principal): boolean {
  return rule.subjects.some((subject) => subjectMatches(subject, user));
}

/** Whether the rule covers this request, whatever its user. */
export function policyMatches(rule: PolicyRulesWithSubjects, info: MatchedRequest): boolean {
  if (info.isResourceRequest) {
    for (const one of rule.resourceRules ?? []) if (resourceRuleMatches(one, info)) return true;
  } else for (const one of rule.nonResourceRules ?? []) if (nonResourceRuleMatches(one, info)) return true;
  return false;
}

function subjectMatches({ kind, user, group, serviceAccount }: Subject, who: Principal): boolean {
  switch (kind) {
    case 'User':
      return user !== undefined && (user.name === '*' || user.name === who.name);
    case 'Group':
      return group !== undefined && (group.name === '*' || who.groups.includes(group.name));
    case 'ServiceAccount': {
      if (serviceAccount === undefined) return false;
      const prefix = `system:serviceaccount:${serviceAccount.namespace}:`;
      return serviceAccount.name === '*' ? who.name.startsWith(prefix) : who.name === prefix + serviceAccount.name;
    }
    default:
      return false;
  }
}

function resourceRuleMatches(rule: ResourcePolicyRule, info: MatchedRequest): boolean {
  return (
    has(rule.verbs, info.verb) &&
    has(rule.apiGroups, info.apiGroup) &&
    (rule.resources[0] === '*' || has(rule.resources, resourceOf(info))) &&
    (info.namespace === '' ? rule.clusterScope === true : has(rule.namespaces, info.namespace))
  );
}

function resourceOf({ resource, subresource }: MatchedRequest): string {
  return subresource === '' ? resource : `${resource}/${subresource}`;
}

function nonResourceRuleMatches(rule: NonResourcePolicyRule, info: MatchedRequest): boolean {
  return (
    has(rule.verbs, info.verb) &&
    rule.nonResourceURLs.some(
      (url) => url === '*' || url === info.path || (url.endsWith('/*') && info.path.startsWith(url.slice(0, -1))),
    )
  );
}

function has(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list[0] === '*' || list.includes(value) || list.includes('*'));
}
