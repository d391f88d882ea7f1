/**
 * RBAC from memory: bindings are indexed as they change, so that a decision reads only the roles of the user and its
 * groups and never waits. Upstream: plugin/pkg/auth/authorizer/rbac (RBACAuthorizer, VisitRulesFor).
 */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { ClusterRoleBindings, ClusterRoles, RoleBindings, Roles } from '../../api/gen/resources.ts';
import type { Principal } from '../../api/transport.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from './contract.ts';
import { type Binding, type Grant, GrantIndex } from './grant-index.ts';
import { rulesAllow } from './rule-index.ts';

/** The authorizer, and the rules of a user for other parts of the server. */
export interface RbacAuthorizer extends Authorizer {
  /**
   * All rules that apply to the user in a namespace ('' : cluster-wide only), for SelfSubjectRulesReview and escalation
   * checks.
   */
  rulesFor(user: Principal, namespace: string): readonly PolicyRule[];
  /** Stops following the store. */
  stop(): void;
}

const ALLOW: AuthorizationDecision = { decision: 'allow', reason: '' };
const NO_OPINION: AuthorizationDecision = { decision: 'noOpinion', reason: '' };

/** Follows roles and bindings until `stop`. */
export function createRbacAuthorizer(objects: ObjectStore): RbacAuthorizer {
  const index = new GrantIndex();
  const follow = (binding: Binding | undefined, old: Binding | undefined): void => index.follow(binding, old);
  const stops = [objects.onChange(ClusterRoleBindings, follow), objects.onChange(RoleBindings, follow)];
  return {
    authorize(attributes) {
      let allowed: Grant | undefined;
      let missing: Set<string> | undefined;
      index.visit(attributes.user, attributes.namespace, (grant) => {
        const rules = rulesOf(objects, grant.binding);
        if (rules === undefined) (missing ??= new Set()).add(missingRole(grant.binding));
        else if (rulesAllow(rules, attributes)) allowed = grant;
        return allowed !== undefined;
      });
      if (allowed !== undefined)
        return (allowed.allow ??= { decision: 'allow', reason: `RBAC: allowed by ${describe(allowed)}` });
      return missing === undefined ? NO_OPINION : { decision: 'noOpinion', reason: `RBAC: ${listText([...missing])}` };
    },
    rulesFor(user, namespace) {
      const roles = new Set<readonly PolicyRule[]>();
      index.visit(user, namespace, (grant) => {
        roles.add(rulesOf(objects, grant.binding) ?? []);
        return false;
      });
      return [...roles].flat();
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

/** The most errors in one reason: bindings may name any number of missing roles. */
const MOST_ERRORS = 20;

/** Several errors in the form of upstream's aggregate, at most the first of them. */
function listText(errors: readonly string[]): string {
  if (errors.length === 1) return errors[0]!;
  const rest = errors.length - MOST_ERRORS;
  return `[${errors.slice(0, MOST_ERRORS).join(', ')}${rest > 0 ? `, and ${rest} more` : ''}]`;
}

function describe({ binding, subject }: Grant): string {
  const { name = '', namespace = '' } = binding.metadata;
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
  const about = namespace === '' ? name : `${name}/${namespace}`;
  const who = subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace ?? namespace}` : subject.name;
  return `${kind} ${JSON.stringify(about)} of ${binding.roleRef.kind} ${JSON.stringify(binding.roleRef.name)} to ${subject.kind} ${JSON.stringify(who)}`;
}

/** Members of `system:masters` may do anything, whatever RBAC says. Upstream: authorizerfactory.NewPrivilegedGroups. */
export const privilegedGroupAuthorizer: Authorizer = {
  authorize: (attributes: AuthorizationAttributes) =>
    attributes.user.groups.includes('system:masters') ? ALLOW : NO_OPINION,
};
