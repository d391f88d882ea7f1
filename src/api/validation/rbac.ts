/** Roles and their bindings. Upstream: apis/rbac/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject } from '../gen/rbac-v1.ts';
import { isDns1123Label, isDns1123Subdomain, isPathSegmentName } from '../names.ts';
import { isEmptySelector, validateLabelSelector } from './common.ts';

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

/** A role. */
export function validateRole(role: Role, field: Field): void {
  for (const [index, rule] of (role.rules ?? []).entries()) validateRule(rule, true, field.at('rules').item(index));
}

/** A cluster role. */
export function validateClusterRole(role: ClusterRole, field: Field): void {
  for (const [index, rule] of (role.rules ?? []).entries()) validateRule(rule, false, field.at('rules').item(index));
  if (role.aggregationRule === undefined) return;
  const selectors = role.aggregationRule.clusterRoleSelectors ?? [];
  const place = field.at('aggregationRule').at('clusterRoleSelectors');
  if (selectors.length === 0) place.required('at least one clusterRoleSelector required if aggregationRule is non-nil');
  for (const [index, selector] of selectors.entries()) {
    validateLabelSelector(selector, place.item(index));
    if (isEmptySelector(selector)) place.item(index).required('selectors must not be empty');
  }
}

function validateSubject(subject: Subject, field: Field): void {
  if (subject.name === '') field.at('name').required();
  switch (subject.kind) {
    case 'ServiceAccount':
      if ((subject.name ?? '') !== '') field.at('name').complain(subject.name, isDns1123Subdomain(subject.name));
      if ((subject.apiGroup ?? '') !== '') field.at('apiGroup').notSupported(subject.apiGroup, ['']);
      if ((subject.namespace ?? '') === '') field.at('namespace').required();
      else field.at('namespace').complain(subject.namespace, isDns1123Label(subject.namespace!));
      break;
    case 'User':
    case 'Group':
      if (subject.apiGroup !== RBAC_GROUP) field.at('apiGroup').notSupported(subject.apiGroup ?? '', [RBAC_GROUP]);
      break;
    default:
      field.at('kind').notSupported(subject.kind ?? '', ['Group', 'ServiceAccount', 'User']);
  }
}

function validateBinding(binding: RoleBinding | ClusterRoleBinding, kinds: readonly string[], field: Field): void {
  const reference = binding.roleRef ?? { kind: '', name: '' };
  const place = field.at('roleRef');
  if (reference.apiGroup !== RBAC_GROUP) place.at('apiGroup').notSupported(reference.apiGroup ?? '', [RBAC_GROUP]);
  if (!kinds.includes(reference.kind)) place.at('kind').notSupported(reference.kind ?? '', kinds);
  if ((reference.name ?? '') === '') place.at('name').required();
  else place.at('name').complain(reference.name, isPathSegmentName(reference.name));
  for (const [index, subject] of (binding.subjects ?? []).entries())
    validateSubject(subject, field.at('subjects').item(index));
}

/** A role binding. */
export function validateRoleBinding(binding: RoleBinding, field: Field): void {
  validateBinding(binding, ['ClusterRole', 'Role'], field);
}

/** A cluster role binding. */
export function validateClusterRoleBinding(binding: ClusterRoleBinding, field: Field): void {
  validateBinding(binding, ['ClusterRole'], field);
}

/** The role of a binding never changes: that would grant what nobody checked. */
export function validateRoleBindingUpdate(
  binding: RoleBinding | ClusterRoleBinding,
  old: RoleBinding | ClusterRoleBinding,
  field: Field,
): void {
  if (!deepEqual(binding.roleRef, old.roleRef)) field.at('roleRef').invalid(binding.roleRef, 'cannot change roleRef');
}
