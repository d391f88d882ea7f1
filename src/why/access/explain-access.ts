/**
 * Explains why a user may do something, or may not. The API server decides (SubjectAccessReview), and RBAC's objects give the
 * reason; when the two disagree, no reason is given. Upstream: `kubectl auth can-i`, which prints only the decision.
 */
import type { SubjectAccessReview, SubjectAccessReviewStatus } from '../../api/gen/authorization-v1.ts';
import { SubjectAccessReviews } from '../../api/gen/resources.ts';
import { ruleAllows } from '../../component-helpers/rbac/rule-matching.ts';
import { ruleText } from '../../component-helpers/rbac/rule-text.ts';
import type { Evidence } from '../evidence.ts';
import { cause, objectText, type Cause, type Diagnosis } from '../explanation.ts';
import { actionText, nameOfUser, type AccessRequest } from './access-request.ts';
import { missingRightCause } from './missing-right.ts';
import { nameOfBinding, nameOfRole, readPolicy, rulesOf, type Grant, type Policy } from './policy.ts';

const MASTERS = 'system:masters';

export async function explainAccess(request: AccessRequest, evidence: Evidence): Promise<Diagnosis> {
  const action = actionText(request);
  const [verdict, policy] = await Promise.all([
    reviewed(request, evidence),
    readPolicy(request.user, request.namespace, evidence),
  ]);
  if (verdict === undefined)
    return { state: 'Unknown', summary: `may or may not ${action}: the API server was not asked`, causes: [] };
  return verdict.allowed
    ? explainAllowed(request, verdict, policy)
    : explainRefused({ request, verdict, policy, evidence });
}

function reviewed(request: AccessRequest, evidence: Evidence): Promise<SubjectAccessReviewStatus | undefined> {
  const { user, verb, isResourceRequest, path } = request;
  const about = isResourceRequest
    ? { resourceAttributes: resourceAttributesOf(request) }
    : { nonResourceAttributes: { path, verb } };
  const review: SubjectAccessReview = { metadata: {}, spec: { user: user.name, groups: [...user.groups], ...about } };
  return evidence
    .create(`the API server's verdict on ${user.name}`, SubjectAccessReviews, review)
    .then((answer) => answer?.status);
}

function resourceAttributesOf(request: AccessRequest): Record<string, string> {
  const { verb, apiGroup, apiVersion, resource, subresource, name, namespace } = request;
  const all = { verb, group: apiGroup, version: apiVersion, resource, subresource, name, namespace };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}

function explainAllowed(request: AccessRequest, { reason = '' }: SubjectAccessReviewStatus, policy: Policy): Diagnosis {
  const summary = `may ${actionText(request)}`;
  const grant = allowingGrant(request, policy);
  if (grant !== undefined) return { state: 'Fine', summary, causes: [grantCause(request, grant)] };
  const { user } = request;
  if (user.groups.includes(MASTERS)) {
    const message = `members of group ${MASTERS} may do everything, whatever RBAC says`;
    return {
      state: 'Fine',
      summary,
      causes: [cause({ code: 'Masters', object: { kind: 'group', name: MASTERS }, message })],
    };
  }
  if (!policy.isComplete) return { state: 'Unknown', summary: `${summary}: not all of RBAC could be read`, causes: [] };
  const other = cause({
    code: 'OtherAuthorizerAllows',
    object: nameOfUser(user.name),
    message: `no RBAC rule allows it: another authorizer of the API server does${nodeText(request)}`,
    facts: reason === '' ? [] : [reason],
  });
  return { state: 'Fine', summary, causes: [other] };
}

interface RefusedAccess {
  readonly request: AccessRequest;
  readonly verdict: SubjectAccessReviewStatus;
  readonly policy: Policy;
  readonly evidence: Evidence;
}

async function explainRefused({ request, verdict, policy, evidence }: RefusedAccess): Promise<Diagnosis> {
  const { denied = false, reason = '', evaluationError = '' } = verdict;
  const summary = `may not ${actionText(request)}`;
  const facts = [...request.notes, reason, evaluationError].filter((text) => text !== '');
  if (denied) {
    const message = 'an authorizer other than RBAC forbids it: no rule can allow it';
    return {
      state: 'Trouble',
      summary,
      causes: [cause({ code: 'AuthorizerDenies', object: nameOfUser(request.user.name), message, facts })],
    };
  }
  const grant = allowingGrant(request, policy);
  if (grant !== undefined) {
    const through = objectText(nameOfBinding(grant.binding));
    return { state: 'Unknown', summary: `${summary}, although RBAC allows it through ${through}`, causes: [] };
  }
  if (!policy.isComplete) return { state: 'Unknown', summary: `${summary}: not all of RBAC could be read`, causes: [] };
  return { state: 'Trouble', summary, causes: [await missingRightCause({ request, policy, evidence, facts })] };
}

function allowingGrant(request: AccessRequest, { grants }: Policy): Grant | undefined {
  return grants.find((grant) => rulesOf(grant).some((rule) => ruleAllows(rule, request)));
}

function grantCause(request: AccessRequest, grant: Grant): Cause {
  const { binding, subject, role } = grant;
  const rule = rulesOf(grant).find((one) => ruleAllows(one, request))!;
  return cause({
    code: 'RuleAllows',
    object: nameOfRole(role!),
    message: `${objectText(nameOfBinding(binding))} gives ${objectText(nameOfRole(role!))} to ${subject}`,
    facts: [ruleText(rule), ...request.notes],
  });
}

function nodeText({ user }: AccessRequest): string {
  return user.groups.includes('system:nodes') ? ' (for nodes the Node authorizer decides, where it is on)' : '';
}
