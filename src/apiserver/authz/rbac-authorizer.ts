/**
 * RBAC from memory: bindings are indexed by subject as they change, so that a decision looks only at the bindings of the
 * user and its groups and never waits. Upstream: plugin/pkg/auth/authorizer/rbac.
 */
import type { ClusterRoleBinding, PolicyRule, RoleBinding, Subject } from '../../api/gen/rbac-v1.ts';
import { ClusterRoleBindings, ClusterRoles, RoleBindings, Roles } from '../../api/gen/resources.ts';
import type { Principal } from '../../api/transport.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from './contract.ts';
import { ruleAllows } from './rule-matching.ts';

type Binding = ClusterRoleBinding | RoleBinding;

/** RBAC with the questions other parts ask of it. */
export interface RbacAuthorizer extends Authorizer {
  /** All rules that apply to the user in a namespace ('' : cluster-wide only), for SelfSubjectRulesReview and escalation checks. */
  rulesFor(user: Principal, namespace: string): readonly PolicyRule[];
  /** Stops following the store. */
  stop(): void;
}

const ALLOW: AuthorizationDecision = { decision: 'allow', reason: '' };
const NO_OPINION: AuthorizationDecision = { decision: 'noOpinion', reason: '' };

/** Creates the authorizer; it follows roles and bindings from then on. */
export function createRbacAuthorizer(objects: ObjectStore): RbacAuthorizer {
  const bySubject = new Map<string, Map<string, Binding>>();
  const follow = (object: Binding | undefined, old: Binding | undefined): void => {
    if (old !== undefined) for (const key of subjectKeys(old)) forget(bySubject, key, old);
    if (object !== undefined) for (const key of subjectKeys(object)) remember(bySubject, key, object);
  };
  const stops = [objects.onChange(ClusterRoleBindings, follow), objects.onChange(RoleBindings, follow)];

  const visit = (user: Principal, namespace: string, onRules: (rules: readonly PolicyRule[]) => boolean): boolean => {
    for (const key of principalKeys(user)) {
      for (const binding of bySubject.get(key)?.values() ?? []) {
        const bound = binding.metadata.namespace ?? '';
        if (bound !== '' && bound !== namespace) continue;
        if (onRules(rulesOf(objects, binding))) return true;
      }
    }
    return false;
  };
  return {
    authorize(asked) {
      const found = visit(asked.user, asked.namespace, (rules) => rules.some((rule) => ruleAllows(rule, asked)));
      return found ? ALLOW : NO_OPINION;
    },
    rulesFor(user, namespace) {
      const all: PolicyRule[] = [];
      visit(user, namespace, (rules) => {
        all.push(...rules);
        return false;
      });
      return all;
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}

function rulesOf(objects: ObjectStore, binding: Binding): readonly PolicyRule[] {
  const role = binding.roleRef.kind === 'Role'
    ? objects.get(Roles, binding.metadata.namespace ?? '', binding.roleRef.name)
    : objects.get(ClusterRoles, '', binding.roleRef.name);
  return role?.rules ?? [];
}

function subjectKeys(binding: Binding): string[] {
  return (binding.subjects ?? []).map((s) => subjectKey(s, binding.metadata.namespace ?? ''));
}

function subjectKey(subject: Subject, bindingNamespace: string): string {
  if (subject.kind !== 'ServiceAccount') return `${subject.kind}:${subject.name}`;
  return `User:system:serviceaccount:${subject.namespace ?? bindingNamespace}:${subject.name}`;
}

function principalKeys(user: Principal): string[] {
  return [`User:${user.name}`, ...user.groups.map((g) => `Group:${g}`)];
}

function remember(index: Map<string, Map<string, Binding>>, key: string, binding: Binding): void {
  let bindings = index.get(key);
  if (bindings === undefined) index.set(key, (bindings = new Map()));
  bindings.set(binding.metadata.uid ?? '', binding);
}

function forget(index: Map<string, Map<string, Binding>>, key: string, binding: Binding): void {
  const bindings = index.get(key);
  bindings?.delete(binding.metadata.uid ?? '');
  if (bindings?.size === 0) index.delete(key);
}

/** Members of `system:masters` may do anything, whatever RBAC says. Upstream: authorizerfactory.NewPrivilegedGroups. */
export const privilegedGroupAuthorizer: Authorizer = {
  authorize: (asked: AuthorizationAttributes) => (asked.user.groups.includes('system:masters') ? ALLOW : NO_OPINION),
};
