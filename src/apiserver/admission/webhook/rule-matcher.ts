/** Whether a rule of a webhook concerns a request. Upstream: admission/plugin/webhook/predicates/rules. */
import type { RuleWithOperations } from '../../../api/gen/admissionregistration-v1.ts';
import type { AdmissionOperation } from '../contract.ts';

/** What rules look at. `namespace`: the name itself for requests of a namespace. */
export interface RuleSubject {
  readonly operation: AdmissionOperation;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
}

function lists(values: readonly string[] | undefined, value: string): boolean {
  return (values ?? []).some((one) => one === '*' || one === value);
}

function coversResource(patterns: readonly string[] | undefined, { resource, subresource }: RuleSubject): boolean {
  return (patterns ?? []).some((pattern) => {
    const slash = pattern.indexOf('/');
    const main = slash < 0 ? pattern : pattern.slice(0, slash);
    const sub = slash < 0 ? '' : pattern.slice(slash + 1);
    return (main === '*' || main === resource) && (sub === '*' || sub === subresource);
  });
}

/** A namespace is cluster-scoped, though its requests name one. */
function coversScope(scope: string | undefined, { group, resource, namespace }: RuleSubject): boolean {
  if (scope === undefined || scope === '*') return true;
  const namespaced = namespace !== '' && !(group === '' && resource === 'namespaces');
  return namespaced === (scope === 'Namespaced');
}

/** Whether the rule matches. */
export function ruleMatches(rule: RuleWithOperations, subject: RuleSubject): boolean {
  return (
    lists(rule.operations, subject.operation) &&
    lists(rule.apiGroups, subject.group) &&
    lists(rule.apiVersions, subject.version) &&
    coversResource(rule.resources, subject) &&
    coversScope(rule.scope, subject)
  );
}

const exempt = new Set([
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
]);

/** Whether admission that users configure must keep away: else they could lock themselves out. */
export function isExemptResource({ group, resource }: { readonly group: string; readonly resource: string }): boolean {
  return group === 'admissionregistration.k8s.io' && exempt.has(resource);
}
