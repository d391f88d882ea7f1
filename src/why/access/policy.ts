/** The rights that RBAC grants a user in a namespace, from its roles and bindings. Pure, except for `readPolicy`. */
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding } from '../../api/gen/rbac-v1.ts';
import { ClusterRoleBindings, ClusterRoles, RoleBindings, Roles } from '../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Principal } from '../../api/transport.ts';
import { namespaceOf, principalKeys, subjectKey } from '../../component-helpers/rbac/subjects.ts';
import type { Evidence } from '../evidence.ts';
import type { ObjectName } from '../explanation.ts';
import { nameOf, nameOfObject } from '../object-name.ts';

export type AnyRole = Stored<ClusterRole> | Stored<Role>;
export type AnyBinding = Stored<ClusterRoleBinding> | Stored<RoleBinding>;

/** A binding of a role to the user, or to one of the user's groups. */
export interface Grant {
  readonly binding: AnyBinding;
  /** The matching subject: `user ann`, `group dev`. */
  readonly subject: string;
  /** Undefined when the role does not exist. */
  readonly role: AnyRole | undefined;
}

/** The roles and bindings that apply in a namespace. */
export interface Policy {
  readonly grants: readonly Grant[];
  /** All roles that bindings of the namespace can refer to. */
  readonly roles: readonly AnyRole[];
  /** Whether all roles and bindings could be read; otherwise there may be more grants. */
  readonly isComplete: boolean;
}

/** Reads roles and bindings. For the namespace '' only cluster roles and their bindings. */
export async function readPolicy(user: Principal, namespace: string, evidence: Evidence): Promise<Policy> {
  const inNamespace = <T extends KubernetesObject>(info: ResourceInfo<T>): Promise<readonly Stored<T>[] | undefined> =>
    namespace === '' ? Promise.resolve([]) : evidence.listAll(info, { namespace });
  const [clusterBindings, bindings, clusterRoles, roles] = await Promise.all([
    evidence.listAll(ClusterRoleBindings),
    inNamespace(RoleBindings),
    evidence.listAll(ClusterRoles),
    inNamespace(Roles),
  ]);
  const known = [...(clusterRoles ?? []), ...(roles ?? [])];
  return {
    grants: grantsOf(user, [...(clusterBindings ?? []), ...(bindings ?? [])], known),
    roles: known,
    isComplete: [clusterBindings, bindings, clusterRoles, roles].every((list) => list !== undefined),
  };
}

/** The bindings whose subjects include the user, with their roles. */
export function grantsOf(
  user: Principal,
  bindings: readonly AnyBinding[],
  roles: readonly AnyRole[],
): readonly Grant[] {
  const keys = new Set(principalKeys(user));
  const byName = new Map(roles.map((role) => [roleKey(namespaceOf(role), role.metadata.name), role]));
  return bindings.flatMap((binding) => {
    const namespace = namespaceOf(binding);
    const subject = binding.subjects?.find((one) => keys.has(subjectKey(one, namespace)));
    if (subject === undefined) return [];
    const { kind, name } = binding.roleRef;
    const role = byName.get(roleKey(kind === 'Role' ? namespace : '', name));
    const text = `${subject.kind === 'ServiceAccount' ? 'service account' : subject.kind.toLowerCase()} ${subject.name}`;
    return [{ binding, subject: text, role }];
  });
}

function roleKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The rules of a grant; empty when its role does not exist. */
export function rulesOf({ role }: Grant): readonly PolicyRule[] {
  return role?.rules ?? [];
}

export function nameOfRole(role: AnyRole): ObjectName {
  return nameOfObject(namespaceOf(role) === '' ? ClusterRoles : Roles, role);
}

export function nameOfBinding(binding: AnyBinding): ObjectName {
  return nameOfObject(namespaceOf(binding) === '' ? ClusterRoleBindings : RoleBindings, binding);
}

/** The name of the role that a binding refers to, which need not exist. */
export function nameOfBoundRole({ roleRef, metadata }: AnyBinding): ObjectName {
  const { name } = roleRef;
  return roleRef.kind === 'Role' ? nameOf(Roles, { ...metadata, name }) : nameOf(ClusterRoles, { name });
}
