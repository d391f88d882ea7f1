/**
 * rbac.authorization.k8s.io. Escalation is checked by the authorization code, through admission. Upstream:
 * registry/rbac.
 */
import { setRoleBindingDefaults } from '../../../api/defaults/cluster.ts';
import { ClusterRoleBindings, ClusterRoles, RoleBindings, Roles } from '../../../api/gen/resources.ts';
import { nameIsPathSegment } from '../../../api/name-checks.ts';
import {
  validateClusterRole,
  validateClusterRoleBinding,
  validateRole,
  validateRoleBinding,
  validateRoleBindingUpdate,
} from '../../../api/validation/rbac.ts';
import { defineResource } from '../define-resource.ts';
import { createdPrinter } from '../printing.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { roleBindingPrinter } from './tables.ts';

const common = { validateName: nameIsPathSegment, allowCreateOnUpdate: true };

export const rbacDefinitions: readonly ResourceDefinition[] = [
  defineResource(Roles, { rules: { ...common, validate: validateRole }, printer: createdPrinter }),
  defineResource(ClusterRoles, { rules: { ...common, validate: validateClusterRole }, printer: createdPrinter }),
  defineResource(RoleBindings, {
    rules: {
      ...common,
      defaults: setRoleBindingDefaults,
      validate: validateRoleBinding,
      validateUpdate: (binding, old, field) => {
        validateRoleBinding(binding, field);
        validateRoleBindingUpdate(binding, old, field);
      },
    },
    printer: roleBindingPrinter,
  }),
  defineResource(ClusterRoleBindings, {
    rules: {
      ...common,
      defaults: setRoleBindingDefaults,
      validate: validateClusterRoleBinding,
      validateUpdate: (binding, old, field) => {
        validateClusterRoleBinding(binding, field);
        validateRoleBindingUpdate(binding, old, field);
      },
    },
    printer: roleBindingPrinter,
  }),
];
