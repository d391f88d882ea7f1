/** The reasons why RBAC does not allow a request: bound roles that nearly allow it, bindings in other namespaces, missing roles and accounts. */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { ClusterRoles, RoleBindings, Roles, ServiceAccounts } from '../../api/gen/resources.ts';
import { ruleAllows } from '../../component-helpers/rbac/rule-matching.ts';
import { ruleText } from '../../component-helpers/rbac/rule-text.ts';
import { serviceAccountOf } from '../../component-helpers/user-names.ts';
import type { Evidence } from '../evidence.ts';
import { cause, objectText, type Cause, type Cure } from '../explanation.ts';
import { inNamespace, nameOf } from '../object-name.ts';
import { actionText, nameOfUser, resourceText, type AccessRequest } from './access-request.ts';
import { cureOf } from './nearest-roles.ts';
import { grantsOf, nameOfBinding, nameOfBoundRole, nameOfRole, rulesOf, type Grant, type Policy } from './policy.ts';

const MAX_CAUSES = 3;

export async function missingRightCause(asked: {
  readonly request: AccessRequest;
  readonly policy: Policy;
  readonly evidence: Evidence;
  readonly facts: readonly string[];
}): Promise<Cause> {
  const { request, policy, evidence, facts } = asked;
  const isNode = request.user.groups.includes('system:nodes');
  const because = [
    ...(await accountCauses(request, evidence)),
    ...policy.grants.flatMap(missingRoleCauses),
    ...policy.grants.flatMap((grant) => nearMissCauses(request, grant)),
    ...(await elsewhereCauses(request, evidence)),
  ];
  const missing = cause({
    code: 'NoRuleAllows',
    object: nameOfUser(request.user.name),
    message: `no RBAC rule bound to user ${request.user.name} or to their groups allows it`,
    facts: [
      `groups: ${request.user.groups.join(', ')}`,
      ...(isNode ? ['of a node the Node authorizer decides too: it allows what the pods of the node need'] : []),
      ...facts,
    ],
    because: because.slice(0, MAX_CAUSES),
  });
  return isNode ? missing : withCure(missing, cureOf(request, policy.roles));
}

/** Adds the cure to the cause and to the causes behind it that have none. */
function withCure(missing: Cause, cure: Cure): Cause {
  return { ...missing, cure, because: missing.because.map((one) => ({ cure, ...one })) };
}

/** Reports a service account that does not exist: no client can authenticate as it. */
async function accountCauses({ user }: AccessRequest, evidence: Evidence): Promise<readonly Cause[]> {
  const account = serviceAccountOf(user.name);
  if (account === undefined) return [];
  const { missing } = await evidence.get(ServiceAccounts, account);
  if (!missing) return [];
  const object = nameOf(ServiceAccounts, account);
  return [
    cause({
      code: 'ServiceAccountMissing',
      object,
      message: `service account ${account.name} does not exist in namespace ${account.namespace}`,
      cure: {
        text: `create service account ${account.name}, or ask about another`,
        command: `kubectl create serviceaccount ${account.name}${inNamespace(object)}`,
      },
    }),
  ];
}

/** Reports a binding whose role does not exist: it grants nothing. */
function missingRoleCauses({ binding, role }: Grant): readonly Cause[] {
  if (role !== undefined) return [];
  const object = nameOfBoundRole(binding);
  const info = object.namespace === undefined ? ClusterRoles : Roles;
  return [
    cause({
      code: 'RoleMissing',
      object,
      message: `${objectText(object)}, which ${objectText(nameOfBinding(binding))} binds, does not exist`,
      cure: {
        text: `create ${info.singular} ${object.name}, or bind another`,
        command: `kubectl create ${info.singular} ${object.name}${inNamespace(object)} --verb=VERB --resource=RESOURCE`,
      },
    }),
  ];
}

/** The ways in which a rule almost allows a request, with their codes and texts. */
const nearMisses: readonly {
  readonly code: string;
  readonly almost: (rule: PolicyRule, request: AccessRequest) => boolean;
  readonly text: (rule: PolicyRule, request: AccessRequest) => string;
}[] = [
  {
    code: 'NameNotGranted',
    almost: (rule, request) => ruleAllows({ ...rule, resourceNames: [] }, request),
    text: ({ resourceNames = [] }, { name, verb }) =>
      `allows it of ${resourceNames.join(', ')} alone, ${name === '' ? `and ${verb} names none` : `not of ${name}`}`,
  },
  {
    code: 'VerbNotGranted',
    almost: (rule, request) => ruleAllows({ ...rule, verbs: [request.verb], resourceNames: [] }, request),
    text: ({ verbs }, { verb }) => `allows ${verbs.join(', ')} of it, not ${verb}`,
  },
  {
    code: 'SubresourceNotGranted',
    almost: (rule, request) => request.subresource !== '' && ruleAllows(rule, { ...request, subresource: '' }),
    text: (_, { resource, subresource }) =>
      `allows it of ${resource}, which does not include ${resource}/${subresource}`,
  },
  {
    code: 'OtherApiGroup',
    almost: (rule, request) =>
      request.isResourceRequest && ruleAllows({ ...rule, apiGroups: [request.apiGroup] }, request),
    text: ({ apiGroups = [] }, request) =>
      `names ${request.resource} of API group ${apiGroups.map((group) => `"${group}"`).join(', ')}; it is ${resourceText(request)}`,
  },
];

function nearMissCauses(request: AccessRequest, grant: Grant): readonly Cause[] {
  const { role, binding } = grant;
  if (role === undefined) return [];
  for (const { code, almost, text } of nearMisses) {
    const rule = rulesOf(grant).find((one) => almost(one, request));
    if (rule === undefined) continue;
    const object = nameOfRole(role);
    const message = `${objectText(object)}, bound by ${objectText(nameOfBinding(binding))}, ${text(rule, request)}`;
    return [cause({ code, object, message, facts: [ruleText(rule)] })];
  }
  return [];
}

/** Reports bindings in other namespaces that allow the request there. */
async function elsewhereCauses(request: AccessRequest, evidence: Evidence): Promise<readonly Cause[]> {
  if (request.namespace === '') return [];
  const [bindings, clusterRoles] = await Promise.all([evidence.listAll(RoleBindings), evidence.listAll(ClusterRoles)]);
  const elsewhere = (bindings ?? []).filter(({ metadata }) => metadata.namespace !== request.namespace);
  const grant = grantsOf(request.user, elsewhere, clusterRoles ?? []).find((one) =>
    rulesOf(one).some((rule) => ruleAllows(rule, request)),
  );
  if (grant === undefined) return [];
  const object = nameOfBinding(grant.binding);
  const message = `${objectText(object)} allows to ${actionText({ ...request, namespace: object.namespace ?? '' })}`;
  return [cause({ code: 'BoundElsewhere', object, message: `${message} alone` })];
}
