/**
 * Bindings by subject, namespace and role, kept up to date: a decision reads each role once, however often it is
 * bound, and no binding of other namespaces. Bindings in one namespace therefore do not slow down other users'
 * decisions.
 */
import { getOrMake } from '../../base/get-or-make.ts';
import type { ClusterRoleBinding, RoleBinding, RoleRef, Subject } from '../../api/gen/rbac-v1.ts';
import type { Principal } from '../../api/transport.ts';
import { namespaceOf, principalKeys, subjectKey } from '../../component-helpers/rbac/subjects.ts';
import type { AuthorizationDecision } from './contract.ts';

export type Binding = ClusterRoleBinding | RoleBinding;

/** A role granted by a binding to one of its subjects. */
export interface Grant {
  readonly binding: Binding;
  readonly subject: Subject;
  /** Created at the first use, since it names the binding. */
  allow: AuthorizationDecision | undefined;
}

/** The bindings, by name, that grant one role to one subject in one namespace. */
type RoleGrants = Map<string, Grant>;
/** By the role's kind and name. */
type NamespaceGrants = Map<string, RoleGrants>;
/** By namespace; '' for cluster role bindings. */
type SubjectGrants = Map<string, NamespaceGrants>;

export class GrantIndex {
  readonly #bySubject = new Map<string, SubjectGrants>();

  /** Replaces the old state of a binding by the new one. */
  follow(binding: Binding | undefined, old: Binding | undefined): void {
    if (old !== undefined) for (const subject of old.subjects ?? []) this.#forget(old, subject);
    if (binding !== undefined) for (const subject of binding.subjects ?? []) this.#remember(binding, subject);
  }

  /** Visits one grant of each role that the user has in the namespace or cluster-wide, until `onRole` returns true. */
  visit(user: Principal, namespace: string, onRole: (grant: Grant) => boolean): void {
    for (const key of principalKeys(user)) {
      const grants = this.#bySubject.get(key);
      if (grants === undefined) continue;
      if (visitRoles(grants.get(''), onRole)) return;
      if (namespace !== '' && visitRoles(grants.get(namespace), onRole)) return;
    }
  }

  #remember(binding: Binding, subject: Subject): void {
    const namespace = namespaceOf(binding);
    const ofSubject = getOrMake(this.#bySubject, subjectKey(subject, namespace), () => new Map() as SubjectGrants);
    const ofNamespace = getOrMake(ofSubject, namespace, () => new Map() as NamespaceGrants);
    const ofRole = getOrMake(ofNamespace, roleKey(binding.roleRef), () => new Map() as RoleGrants);
    ofRole.set(nameOf(binding), { binding, subject, allow: undefined });
  }

  #forget(binding: Binding, subject: Subject): void {
    const namespace = namespaceOf(binding);
    const key = subjectKey(subject, namespace);
    const ofSubject = this.#bySubject.get(key);
    const ofNamespace = ofSubject?.get(namespace);
    const ofRole = ofNamespace?.get(roleKey(binding.roleRef));
    if (ofSubject === undefined || ofNamespace === undefined || ofRole === undefined) return;
    ofRole.delete(nameOf(binding));
    if (ofRole.size === 0) ofNamespace.delete(roleKey(binding.roleRef));
    if (ofNamespace.size === 0) ofSubject.delete(namespace);
    if (ofSubject.size === 0) this.#bySubject.delete(key);
  }
}

function visitRoles(roles: NamespaceGrants | undefined, onRole: (grant: Grant) => boolean): boolean {
  if (roles === undefined) return false;
  for (const grants of roles.values()) {
    const [grant] = grants.values();
    if (grant !== undefined && onRole(grant)) return true;
  }
  return false;
}

function nameOf({ metadata: { name = '' } }: Binding): string {
  return name;
}

function roleKey({ kind, name }: RoleRef): string {
  return `${kind}/${name}`;
}
