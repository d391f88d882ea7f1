/**
 * Bindings by subject, namespace and role, as they change: a decision looks at each role once, however often it is bound, and
 * at no binding of other namespaces. Whoever may write bindings in one namespace makes nobody else's decisions slower.
 */
import type { ClusterRoleBinding, RoleBinding, RoleRef, Subject } from '../../api/gen/rbac-v1.ts';
import type { Principal } from '../../api/transport.ts';
import { namespaceOf, principalKeys, subjectKey } from '../../component-helpers/rbac/subjects.ts';
import type { AuthorizationDecision } from './contract.ts';

export type Binding = ClusterRoleBinding | RoleBinding;

/** A binding as one of its subjects sees it. */
export interface Grant {
  readonly binding: Binding;
  readonly subject: Subject;
  /** Made at the first use: it names the binding. */
  allow: AuthorizationDecision | undefined;
}

/** One role, and the bindings that give it to one subject in one namespace, by name. */
type RoleGrants = Map<string, Grant>;
/** By the role's kind and name. */
type NamespaceGrants = Map<string, RoleGrants>;
/** By namespace; '' for cluster role bindings. */
type SubjectGrants = Map<string, NamespaceGrants>;

export class GrantIndex {
  readonly #bySubject = new Map<string, SubjectGrants>();

  /** A binding as it is now, and as it was. */
  follow(binding: Binding | undefined, old: Binding | undefined): void {
    if (old !== undefined) for (const subject of old.subjects ?? []) this.#forget(old, subject);
    if (binding !== undefined) for (const subject of binding.subjects ?? []) this.#remember(binding, subject);
  }

  /** One grant of each role that the user has in the namespace or everywhere, until `onRole` says that it is enough. */
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
    const ofSubject = madeAt(this.#bySubject, subjectKey(subject, namespace), () => new Map() as SubjectGrants);
    const ofNamespace = madeAt(ofSubject, namespace, () => new Map() as NamespaceGrants);
    const ofRole = madeAt(ofNamespace, roleKey(binding.roleRef), () => new Map() as RoleGrants);
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

function madeAt<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
