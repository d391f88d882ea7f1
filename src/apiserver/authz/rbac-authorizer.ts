/**
 * RBAC from memory: bindings are indexed by subject as they change, so that a decision looks only at the bindings of the
 * user and its groups and never waits. Upstream: plugin/pkg/auth/authorizer/rbac.
 */
import type { ClusterRoleBinding, PolicyRule, RoleBinding, Subject } from '../../api/gen/rbac-v1.ts';
import { ClusterRoleBindings, ClusterRoles, RoleBindings, Roles } from '../../api/gen/resources.ts';
import type { Principal } from '../../api/transport.ts';
import { ruleAllows } from '../../component-helpers/rbac/rule-matching.ts';
import { namespaceOf, principalKeys, subjectKey } from '../../component-helpers/rbac/subjects.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from './contract.ts';
import { appendAll } from '../../base/lists.ts';

type Binding = ClusterRoleBinding | RoleBinding;

/** RBAC with the questions other parts ask of it. */
export interface RbacAuthorizer extends Authorizer {
  /** All rules that apply to the user in a namespace ('' : cluster-wide only), for SelfSubjectRulesReview and escalation checks. */
  rulesFor(user: Principal, namespace: string): readonly PolicyRule[];
  /** Stops following the store. */
  stop(): void;
}

/** A binding as one of its subjects sees it. */
interface Grant {
  readonly binding: Binding;
  readonly subject: Subject;
  /** Made at the first use: it names the binding. */
  allow: AuthorizationDecision | undefined;
}

const ALLOW: AuthorizationDecision = { decision: 'allow', reason: '' };
const NO_OPINION: AuthorizationDecision = { decision: 'noOpinion', reason: '' };

/** Creates the authorizer; it follows roles and bindings from then on. */
export function createRbacAuthorizer(objects: ObjectStore): RbacAuthorizer {
  const bySubject = new Map<string, Map<string, Grant>>();
  const follow = (object: Binding | undefined, old: Binding | undefined): void => {
    if (old !== undefined)
      for (const subject of old.subjects ?? []) forget(bySubject, subjectKey(subject, namespaceOf(old)), old);
    if (object !== undefined) for (const subject of object.subjects ?? []) remember(bySubject, object, subject);
  };
  const stops = [objects.onChange(ClusterRoleBindings, follow), objects.onChange(RoleBindings, follow)];

  const visit = (
    user: Principal,
    namespace: string,
    onGrant: (grant: Grant, rules: readonly PolicyRule[] | undefined) => boolean,
  ): void => {
    for (const key of principalKeys(user)) {
      for (const grant of bySubject.get(key)?.values() ?? []) {
        const bound = namespaceOf(grant.binding);
        if (bound !== '' && bound !== namespace) continue;
        if (onGrant(grant, rulesOf(objects, grant.binding))) return;
      }
    }
  };
  return {
    authorize(asked) {
      let allowed: Grant | undefined;
      let missing: Set<string> | undefined;
      visit(asked.user, asked.namespace, (grant, rules) => {
        if (rules === undefined) (missing ??= new Set()).add(missingRole(grant.binding));
        else if (rules.some((rule) => ruleAllows(rule, asked))) allowed = grant;
        return allowed !== undefined;
      });
      if (allowed !== undefined)
        return (allowed.allow ??= { decision: 'allow', reason: `RBAC: allowed by ${describe(allowed)}` });
      return missing === undefined ? NO_OPINION : { decision: 'noOpinion', reason: `RBAC: ${listText([...missing])}` };
    },
    rulesFor(user, namespace) {
      const all: PolicyRule[] = [];
      visit(user, namespace, (_grant, rules) => {
        appendAll(all, rules ?? []);
        return false;
      });
      return all;
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}

/** Undefined when the role does not exist. */
function rulesOf(objects: ObjectStore, binding: Binding): readonly PolicyRule[] | undefined {
  const role =
    binding.roleRef.kind === 'Role'
      ? objects.get(Roles, namespaceOf(binding), binding.roleRef.name)
      : objects.get(ClusterRoles, '', binding.roleRef.name);
  return role === undefined ? undefined : (role.rules ?? []);
}

function missingRole({ roleRef }: Binding): string {
  return `${roleRef.kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(roleRef.name)} not found`;
}

/** Several errors as upstream's aggregate prints them. */
function listText(errors: readonly string[]): string {
  return errors.length === 1 ? (errors[0] ?? '') : `[${errors.join(', ')}]`;
}

function describe({ binding, subject }: Grant): string {
  const { name = '', namespace = '' } = binding.metadata;
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
  const about = namespace === '' ? name : `${name}/${namespace}`;
  const who = subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace ?? namespace}` : subject.name;
  return `${kind} ${JSON.stringify(about)} of ${binding.roleRef.kind} ${JSON.stringify(binding.roleRef.name)} to ${subject.kind} ${JSON.stringify(who)}`;
}

function bindingKey(binding: Binding): string {
  return `${namespaceOf(binding)}/${binding.metadata.name}`;
}

function remember(index: Map<string, Map<string, Grant>>, binding: Binding, subject: Subject): void {
  const key = subjectKey(subject, namespaceOf(binding));
  let grants = index.get(key);
  if (grants === undefined) index.set(key, (grants = new Map()));
  grants.set(bindingKey(binding), { binding, subject, allow: undefined });
}

function forget(index: Map<string, Map<string, Grant>>, key: string, binding: Binding): void {
  const grants = index.get(key);
  grants?.delete(bindingKey(binding));
  if (grants?.size === 0) index.delete(key);
}

/** Members of `system:masters` may do anything, whatever RBAC says. Upstream: authorizerfactory.NewPrivilegedGroups. */
export const privilegedGroupAuthorizer: Authorizer = {
  authorize: (asked: AuthorizationAttributes) => (asked.user.groups.includes('system:masters') ? ALLOW : NO_OPINION),
};
