/**
 * Whether a request falls under the rules of a webhook or policy: operations, groups, versions, resources with
 * sub-resources, scope, names. Upstream: apiserver/pkg/admission/plugin/webhook/predicates/rules.
 */
import { allows } from '../../base/lists.ts';
import type { NamedRuleWithOperations } from '../../api/gen/admissionregistration-v1.ts';
import type { AdmissionOperation } from '../admission/contract.ts';

/** The attributes of a request that rules match. */
export interface RuleSubject {
  readonly operation: AdmissionOperation;
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  /** '' for the main resource. */
  readonly subresource: string;
  /** For a request on a Namespace itself: that namespace's name, as upstream has it. */
  readonly namespace: string;
  readonly name: string;
}

/** Whether a rule covers the request, including `resourceNames` if the rule has them (policies). */
export function ruleMatches(rule: NamedRuleWithOperations, subject: RuleSubject): boolean {
  const { resource, operation } = subject;
  return (
    hasValueOrWildcard(rule.operations, operation) &&
    hasValueOrWildcard(rule.apiGroups, resource.group) &&
    hasValueOrWildcard(rule.apiVersions, resource.version) &&
    (rule.resources ?? []).some((pattern) => resourceMatches(pattern, resource.resource, subject.subresource)) &&
    scopeMatches(rule.scope, subject) &&
    allows(rule.resourceNames, subject.name)
  );
}

/** Whether the request is on webhook configurations or admission policies, which no webhook and no policy may block. */
export function isAdmissionConfiguration(resource: { readonly group: string; readonly resource: string }): boolean {
  return resource.group === 'admissionregistration.k8s.io' && CONFIGURATIONS.has(resource.resource);
}

const CONFIGURATIONS = new Set([
  'validatingwebhookconfigurations',
  'mutatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
]);

function hasValueOrWildcard(values: readonly string[] | undefined, wanted: string): boolean {
  return (values ?? []).some((value) => value === '*' || value === wanted);
}

/** `pods`, `pods/status`, `pods/*`, `*`, `* /scale`: without a slash only the main resource. */
function resourceMatches(pattern: string, resource: string, subresource: string): boolean {
  const slash = pattern.indexOf('/');
  const main = slash < 0 ? pattern : pattern.slice(0, slash);
  const sub = slash < 0 ? '' : pattern.slice(slash + 1);
  return (main === '*' || main === resource) && (sub === '*' || sub === subresource);
}

function scopeMatches(scope: string | undefined, { resource, namespace }: RuleSubject): boolean {
  const isNamespace = resource.group === '' && resource.resource === 'namespaces';
  const isCluster = isNamespace || namespace === '';
  if (scope === 'Namespaced') return !isCluster;
  if (scope === 'Cluster') return isCluster;
  return true;
}
