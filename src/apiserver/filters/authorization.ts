/** Asks the authorizers in order; 403 when none allows the request. Upstream: endpoints/filters.WithAuthorization. */
import { forbidden, type StatusError } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import type { Clock } from '../../platform/clock.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from '../authz/contract.ts';
import type { RequestContext, RequestInfo } from '../request-context.ts';
import { recordRefusal } from '../refused-requests/refusal-source.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Answer, Filter } from './filter.ts';

export interface AuthorizationFilterDeps {
  readonly clock: Clock;
  readonly authorizers: readonly Authorizer[];
}

/** Throws or rejects with 403. */
export function withAuthorization({ clock, authorizers }: AuthorizationFilterDeps): Filter {
  return (handler) => (scope) => {
    const attributes = attributesOf(scope.user, scope.info);
    const decided = (verdict: AuthorizationDecision): Answer => {
      annotateDecision(scope, verdict);
      const { decision, reason } = verdict;
      if (decision === 'allow') return handler(scope);
      throw recordRefusal(forbiddenError(attributes, reason), { part: 'authorization', reason });
    };
    const verdict = decide(authorizers, attributes);
    if (!(verdict instanceof Promise)) return decided(verdict);
    const startMs = clock.monotonicMs();
    return verdict.then((later) => {
      scope.addWait('authorization', clock.monotonicMs() - startMs);
      return decided(later);
    });
  };
}

/**
 * Authorizes another verb on what a request names: an update that creates is a create as well. Rejects with 403. Upstream:
 * endpoints/handlers.withAuthorization.
 */
export async function requireVerb(
  authorizers: readonly Authorizer[],
  { user, info }: Pick<RequestContext, 'user' | 'info'>,
  verb: string,
): Promise<void> {
  const attributes = { ...attributesOf(user, info), verb };
  const { decision, reason } = await decide(authorizers, attributes);
  if (decision !== 'allow') throw recordRefusal(forbiddenError(attributes, reason), { part: 'authorization', reason });
}

function annotateDecision(scope: RequestScope, { decision, reason }: AuthorizationDecision): void {
  if (scope.audited === undefined) return;
  scope.addAuditAnnotation('authorization.k8s.io/decision', decision === 'allow' ? 'allow' : 'forbid');
  scope.addAuditAnnotation('authorization.k8s.io/reason', reason);
}

export function attributesOf(user: Principal, info: RequestInfo): AuthorizationAttributes {
  return {
    user,
    verb: info.verb,
    isResourceRequest: info.isResourceRequest,
    apiGroup: info.apiGroup,
    apiVersion: info.apiVersion,
    namespace: info.namespace,
    resource: info.resource,
    subresource: info.subresource,
    name: info.name,
    path: info.path,
    labelSelector: info.labelSelector,
    fieldSelector: info.fieldSelector,
  };
}

/** The refusal, in upstream's words. */
export function forbiddenError(attributes: AuthorizationAttributes, reason: string): StatusError {
  const who = `User ${JSON.stringify(attributes.user.name)} cannot ${attributes.verb}`;
  const why = reason === '' ? '' : `: ${reason}`;
  if (!attributes.isResourceRequest) {
    return forbidden({ group: '', resource: '' }, '', `${who} path ${JSON.stringify(attributes.path)}${why}`);
  }
  const { apiGroup, resource, subresource, namespace } = attributes;
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const text = `${who} resource ${JSON.stringify(what)} in API group ${JSON.stringify(apiGroup)} ${where}${why}`;
  return forbidden({ group: apiGroup, resource }, attributes.name, text);
}

/** The union of the authorizers: the first that has an opinion decides. Answers at once when they all do. */
export function decide(
  authorizers: readonly Authorizer[],
  attributes: AuthorizationAttributes,
): AuthorizationDecision | Promise<AuthorizationDecision> {
  const reasons: string[] = [];
  for (let index = 0; index < authorizers.length; index++) {
    const verdict = authorizers[index]!.authorize(attributes);
    if (verdict instanceof Promise) return decideLater(verdict, authorizers.slice(index + 1), { attributes, reasons });
    if (verdict.decision !== 'noOpinion') return verdict;
    if (verdict.reason !== '') reasons.push(verdict.reason);
  }
  return { decision: 'noOpinion', reason: reasons.join(', ') };
}

async function decideLater(
  first: Promise<AuthorizationDecision>,
  rest: readonly Authorizer[],
  { attributes, reasons }: { attributes: AuthorizationAttributes; reasons: string[] },
): Promise<AuthorizationDecision> {
  const verdict = await first;
  if (verdict.decision !== 'noOpinion') return verdict;
  if (verdict.reason !== '') reasons.push(verdict.reason);
  const later = await decide(rest, attributes);
  if (later.decision !== 'noOpinion') return later;
  return { decision: 'noOpinion', reason: [...reasons, ...(later.reason === '' ? [] : [later.reason])].join(', ') };
}
