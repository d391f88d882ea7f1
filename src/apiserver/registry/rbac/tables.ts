/** Columns of rbac resources in `kubectl get`. Upstream: printers/internalversion. */
import type { ClusterRoleBinding, RoleBinding } from '../../../api/gen/rbac-v1.ts';
import { ageCell, ageColumn, column, printerOf, wide } from '../printing.ts';
import type { Printer } from '../resource-definition.ts';

/** Printer of bindings of either scope. */
export const roleBindingPrinter: Printer<RoleBinding | ClusterRoleBinding> = printerOf(
  [column('Role'), ageColumn, wide(column('Users')), wide(column('Groups')), wide(column('ServiceAccounts'))],
  (binding, nowMs) => {
    const subjects = binding.subjects ?? [];
    const names = (kind: string) =>
      subjects
        .filter((subject) => subject.kind === kind)
        .map((subject) => subject.name)
        .join(', ');
    const accounts = subjects
      .filter((subject) => subject.kind === 'ServiceAccount')
      .map((subject) => `${subject.namespace ?? ''}/${subject.name}`);
    return [
      `${binding.roleRef.kind}/${binding.roleRef.name}`,
      ageCell(binding, nowMs),
      names('User'),
      names('Group'),
      accounts.join(', '),
    ];
  },
);
