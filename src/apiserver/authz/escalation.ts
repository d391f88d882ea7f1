/**
 * Nobody may grant more than they hold: writing a role needs all of its rules (or the verb `escalate` on it), writing
 * a binding needs all rules of the role (or the verb `bind` on it); aggregation rules need everything. Members of
 * system:masters are exempt. Upstream: registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/policybased
 * and registry/rbac/escalation_check.go (EscalationAllowed).
 */
import { deepEqual } from '../../base/equal.ts';
import type { ClusterRole, PolicyRule, Role, RoleRef } from '../../api/gen/rbac-v1.ts';
import { ClusterRoles, Roles } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { notFound } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { Authorizer } from './contract.ts';
import { uncoveredRules } from './rule-cover.ts';
import { compactRules, quotedList, ruleText } from '../../component-helpers/rbac/rule-text.ts';

/** The authorizers that decide what a user may do and which rules it holds. */
export interface EscalationDeps {
  readonly objects: () => ObjectStore;
  readonly authorizer: Authorizer;
  readonly rulesFor: (user: Principal, namespace: string) => readonly PolicyRule[];
}

/** One write of a role or binding. */
export interface GrantAttempt {
  readonly user: Principal;
  readonly resource: 'roles' | 'clusterroles' | 'rolebindings' | 'clusterrolebindings';
  /** '' for cluster-scoped resources. */
  readonly namespace: string;
  /** The name in the request's path; '' on create. */
  readonly requestName: string;
  readonly object: KubernetesObject;
  /** Absent on create. */
  readonly oldObject?: KubernetesObject;
}

const RBAC = 'rbac.authorization.k8s.io';
const EVERYTHING: readonly PolicyRule[] = [
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { nonResourceURLs: ['*'], verbs: ['*'] },
];

/**
 * The reason why the write is refused; undefined when it is allowed. Rejects with 404 when a binding's role does not
 * exist.
 */
export async function escalationProblem(deps: EscalationDeps, attempt: GrantAttempt): Promise<string | undefined> {
  if (attempt.user.groups.includes('system:masters') || changesOnlyWhatCollectionNeeds(attempt)) return undefined;
  return attempt.resource.endsWith('bindings') ? bindingProblem(deps, attempt) : roleProblem(deps, attempt);
}

async function roleProblem(deps: EscalationDeps, attempt: GrantAttempt): Promise<string | undefined> {
  const { user, resource, namespace, requestName } = attempt;
  if (await may(deps, { user, verb: 'escalate', resource, namespace, name: requestName })) return undefined;
  const role = attempt.object as Role | ClusterRole;
  const missing = missingRights(deps, { user, namespace }, role.rules ?? []);
  if (missing !== undefined) return missing;
  const aggregates = (o: KubernetesObject | undefined): boolean =>
    ((o as ClusterRole | undefined)?.aggregationRule?.clusterRoleSelectors ?? []).length > 0;
  if (!aggregates(role) && !aggregates(attempt.oldObject)) return undefined;
  return missingRights(deps, { user, namespace }, EVERYTHING) === undefined
    ? undefined
    : 'must have cluster-admin privileges to use the aggregationRule';
}

async function bindingProblem(deps: EscalationDeps, attempt: GrantAttempt): Promise<string | undefined> {
  const { user, namespace } = attempt;
  const { roleRef } = attempt.object as KubernetesObject & { roleRef: RoleRef };
  const resource = roleRef.kind === 'Role' ? 'roles' : 'clusterroles';
  if (await may(deps, { user, verb: 'bind', resource, namespace, name: roleRef.name })) return undefined;
  const role =
    roleRef.kind === 'Role'
      ? deps.objects().get(Roles, namespace, roleRef.name)
      : deps.objects().get(ClusterRoles, '', roleRef.name);
  if (role === undefined) throw notFound({ group: RBAC, resource }, roleRef.name);
  return missingRights(deps, { user, namespace }, role.rules ?? []);
}

async function may(
  deps: EscalationDeps,
  attributes: { user: Principal; verb: string; resource: string; namespace: string; name: string },
): Promise<boolean> {
  const verdict = await deps.authorizer.authorize({
    ...attributes,
    isResourceRequest: true,
    apiGroup: RBAC,
    apiVersion: '*',
    subresource: '',
    path: '',
  });
  return verdict.decision === 'allow';
}

function missingRights(
  deps: EscalationDeps,
  who: { user: Principal; namespace: string },
  wanted: readonly PolicyRule[],
): string | undefined {
  const missing = uncoveredRules(deps.rulesFor(who.user, who.namespace), wanted);
  if (missing.length === 0) return undefined;
  const texts = [...new Set(compactRules(missing).map(ruleText))].sort();
  return `user ${JSON.stringify(who.user.name)} (groups=${quotedList(who.user.groups)}) is attempting to grant RBAC permissions not currently held:\n${texts.join('\n')}`;
}

/** The garbage collector must be able to remove owner references and finalizers from anything. */
function changesOnlyWhatCollectionNeeds({ object, oldObject }: GrantAttempt): boolean {
  if (oldObject === undefined) return false;
  const rest = (o: KubernetesObject): unknown => {
    const {
      ownerReferences: _owners,
      finalizers: _finalizers,
      managedFields: _managed,
      resourceVersion: _revision,
      generation: _generation,
      ...metadata
    } = o.metadata;
    return { ...o, apiVersion: '', kind: '', metadata };
  };
  const touched =
    !deepEqual(object.metadata.ownerReferences, oldObject.metadata.ownerReferences) ||
    !deepEqual(object.metadata.finalizers, oldObject.metadata.finalizers);
  return touched && deepEqual(rest(object), rest(oldObject));
}
