/** Validation of roles and bindings. Upstream: apis/rbac/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject } from '../gen/rbac-v1.ts';
import { isDns1123Subdomain, isPathSegmentName } from '../names.ts';
import { validateLabelSelector } from './selectors.ts';

const RBAC_GROUP = 'rbac.authorization.k8s.io';

function validateRule(rule: PolicyRule, namespaced: boolean, field: Field): void {
  if ((rule.verbs ?? []).length === 0) field.at('verbs').required('verbs must contain at least one value');
  const resources = (rule.apiGroups ?? []).length + (rule.resources ?? []).length + (rule.resourceNames ?? []).length;
  if ((rule.nonResourceURLs ?? []).length > 0) {
    if (namespaced)
      field.at('nonResourceURLs').invalid(rule.nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs');
    if (resources > 0)
      field
        .at('nonResourceURLs')
        .invalid(rule.nonResourceURLs, 'rules cannot apply to both regular resources and non-resource URLs');
    return;
  }
  if ((rule.apiGroups ?? []).length === 0)
    field.at('apiGroups').required('resource rules must supply at least one api group');
  if ((rule.resources ?? []).length === 0)
    field.at('resources').required('resource rules must supply at least one resource');
}

export function validateRole(role: Role, field: Field): void {
  for (const [index, rule] of (role.rules ?? []).entries()) validateRule(rule, true, field.at('rules').item(index));
}

export function validateClusterRole(role: ClusterRole, field: Field): void {
  for (const [index, rule] of (role.rules ?? []).entries()) validateRule(rule, false, field.at('rules').item(index));
  if (role.aggregationRule === undefined) return;
  const selectors = role.aggregationRule.clusterRoleSelectors ?? [];
  const place = field.at('aggregationRule').at('clusterRoleSelectors');
  if (selectors.length === 0) place.required('at least one clusterRoleSelector required if aggregationRule is non-nil');
  for (const [index, selector] of selectors.entries()) {
    const before = field.errors.length;
    validateLabelSelector(selector, place.item(index));
    // As upstream, an invalid selector has a second error, from compiling it.
    if (field.errors.length > before) place.item(index).invalid(undefined, 'invalid label selector.');
  }
}

function validateSubject(subject: Subject, namespaced: boolean, field: Field): void {
  const { name = '' } = subject;
  if (name === '') field.at('name').required();
  switch (subject.kind) {
    case 'ServiceAccount':
      if (name !== '') field.at('name').complain(name, isDns1123Subdomain(name));
      if ((subject.apiGroup ?? '') !== '') field.at('apiGroup').notSupported(subject.apiGroup, ['']);
      // In a RoleBinding an empty namespace means the binding's own.
      if (!namespaced && (subject.namespace ?? '') === '') field.at('namespace').required();
      break;
    case 'User':
    case 'Group':
      if (subject.apiGroup !== RBAC_GROUP) field.at('apiGroup').notSupported(subject.apiGroup ?? '', [RBAC_GROUP]);
      break;
    default:
      field.at('kind').notSupported(subject.kind ?? '', ['ServiceAccount', 'User', 'Group']);
  }
}

function validateBinding(binding: RoleBinding | ClusterRoleBinding, namespaced: boolean, field: Field): void {
  const kinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  const reference = binding.roleRef ?? { kind: '', name: '' };
  const place = field.at('roleRef');
  if (reference.apiGroup !== RBAC_GROUP) place.at('apiGroup').notSupported(reference.apiGroup ?? '', [RBAC_GROUP]);
  if (!kinds.includes(reference.kind)) place.at('kind').notSupported(reference.kind ?? '', kinds);
  if ((reference.name ?? '') === '') place.at('name').required();
  else place.at('name').complain(reference.name, isPathSegmentName(reference.name));
  for (const [index, subject] of (binding.subjects ?? []).entries())
    validateSubject(subject, namespaced, field.at('subjects').item(index));
}

export function validateRoleBinding(binding: RoleBinding, field: Field): void {
  validateBinding(binding, true, field);
}

export function validateClusterRoleBinding(binding: ClusterRoleBinding, field: Field): void {
  validateBinding(binding, false, field);
}

/** The roleRef of a binding is immutable: a change would grant rights without an escalation check. */
export function validateRoleBindingUpdate(
  binding: RoleBinding | ClusterRoleBinding,
  old: RoleBinding | ClusterRoleBinding,
  field: Field,
): void {
  if (!deepEqual(binding.roleRef, old.roleRef)) field.at('roleRef').invalid(binding.roleRef, 'cannot change roleRef');
}
