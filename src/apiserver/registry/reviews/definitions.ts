/**
 * authentication.k8s.io and authorization.k8s.io: reviews, which are answered and not stored. Upstream:
 * registry/authentication, registry/authorization.
 */
import { Field } from '../../../api/field-error.ts';
import type { SelfSubjectReview, TokenReview, UserInfo } from '../../../api/gen/authentication-v1.ts';
import type {
  LocalSubjectAccessReview,
  NonResourceAttributes,
  ResourceAttributes,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from '../../../api/gen/authorization-v1.ts';
import {
  LocalSubjectAccessReviews,
  SelfSubjectAccessReviews,
  SelfSubjectReviews,
  SelfSubjectRulesReviews,
  SubjectAccessReviews,
  TokenReviews,
} from '../../../api/gen/resources.ts';
import { badRequest, invalid } from '../../../api/status-error.ts';
import { formatTime } from '../../../api/time.ts';
import type { Principal } from '../../../api/transport.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { AuthorizationAttributes, Authorizer } from '../../authz/contract.ts';
import { defineVirtual } from '../define-resource.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import type { AuthenticateToken, RegistryServices, RulesFor } from '../services.ts';
import { fieldSelectorText, labelSelectorText, validateReviewSelectors } from './selectors.ts';

function userInfoOf(user: Principal): UserInfo {
  const info: UserInfo = { username: user.name, groups: [...user.groups] };
  if (user.uid !== undefined && user.uid !== '') info.uid = user.uid;
  if (user.extra !== undefined)
    info.extra = Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]]));
  return info;
}

function attributesOf(
  user: Principal,
  resource: ResourceAttributes | undefined,
  path: NonResourceAttributes | undefined,
): AuthorizationAttributes {
  const none = { apiGroup: '', apiVersion: '', namespace: '', resource: '', subresource: '', name: '', path: '' };
  if (resource === undefined)
    return { ...none, user, isResourceRequest: false, verb: path?.verb ?? '', path: path?.path ?? '' };
  return {
    ...none,
    user,
    isResourceRequest: true,
    verb: resource.verb ?? '',
    apiGroup: resource.group ?? '',
    apiVersion: resource.version ?? '*',
    namespace: resource.namespace ?? '',
    resource: resource.resource ?? '',
    subresource: resource.subresource ?? '',
    name: resource.name ?? '',
    labelSelector: labelSelectorText(resource.labelSelector),
    fieldSelector: fieldSelectorText(resource.fieldSelector),
  };
}

async function decide(authorizer: Authorizer, attributes: AuthorizationAttributes): Promise<SubjectAccessReviewStatus> {
  try {
    const { decision, reason } = await authorizer.authorize(attributes);
    return {
      allowed: decision === 'allow',
      ...(decision === 'deny' ? { denied: true } : {}),
      ...(reason === '' ? {} : { reason }),
    };
  } catch (error) {
    return { allowed: false, evaluationError: errorMessage(error) };
  }
}

function validateOneOf(
  spec: { resourceAttributes?: ResourceAttributes; nonResourceAttributes?: NonResourceAttributes },
  field: Field,
): void {
  if (spec.resourceAttributes !== undefined && spec.nonResourceAttributes !== undefined) {
    field
      .at('nonResourceAttributes')
      .invalid(spec.nonResourceAttributes, 'cannot be specified in combination with resourceAttributes');
  }
  if (spec.resourceAttributes === undefined && spec.nonResourceAttributes === undefined) {
    field
      .at('resourceAttributes')
      .invalid(null, 'exactly one of nonResourceAttributes or resourceAttributes must be specified');
  }
}

/** Upstream's error names no kind. */
function refuseInvalid(field: Field): void {
  if (field.errors.length > 0) throw invalid({ group: 'authorization.k8s.io', kind: '' }, '', field.errors);
}

function validateSubject(spec: SubjectAccessReviewSpec, field: Field): void {
  validateOneOf(spec, field);
  if ((spec.user ?? '') === '' && (spec.groups ?? []).length === 0)
    field.at('user').invalid('', 'at least one of user or group must be specified');
  validateReviewSelectors(spec.resourceAttributes, field);
}

function validateLocal({ spec }: LocalSubjectAccessReview, namespace: string): void {
  const field = Field.root().at('spec');
  validateSubject(spec, field);
  const { resourceAttributes, nonResourceAttributes } = spec;
  const reviewedNamespace = resourceAttributes?.namespace ?? '';
  if (resourceAttributes !== undefined && reviewedNamespace !== namespace)
    field.at('resourceAttributes').at('namespace').invalid(reviewedNamespace, 'must match metadata.namespace');
  if (nonResourceAttributes !== undefined)
    field.at('nonResourceAttributes').invalid(nonResourceAttributes, 'disallowed on this kind of request');
  refuseInvalid(field);
}

function subjectOf(spec: SubjectAccessReviewSpec): Principal {
  return {
    name: spec.user ?? '',
    groups: spec.groups ?? [],
    uid: spec.uid,
    extra: spec.extra,
  };
}

function accessReviews(authorizer: Authorizer): ResourceDefinition[] {
  return [
    defineVirtual(SubjectAccessReviews, {
      async create(draft) {
        const review = draft as SubjectAccessReview;
        const field = Field.root().at('spec');
        validateSubject(review.spec, field);
        refuseInvalid(field);
        const { resourceAttributes, nonResourceAttributes } = review.spec;
        return {
          ...review,
          status: await decide(
            authorizer,
            attributesOf(subjectOf(review.spec), resourceAttributes, nonResourceAttributes),
          ),
        };
      },
    }),
    defineVirtual(LocalSubjectAccessReviews, {
      async create(draft, _context, namespace) {
        const review = draft as LocalSubjectAccessReview;
        validateLocal(review, namespace);
        const { resourceAttributes } = review.spec;
        return {
          ...review,
          status: await decide(authorizer, attributesOf(subjectOf(review.spec), resourceAttributes, undefined)),
        };
      },
    }),
    defineVirtual(SelfSubjectAccessReviews, {
      async create(draft, context) {
        const review = draft as SelfSubjectAccessReview;
        const field = Field.root().at('spec');
        validateOneOf(review.spec, field);
        validateReviewSelectors(review.spec.resourceAttributes, field);
        refuseInvalid(field);
        const { resourceAttributes, nonResourceAttributes } = review.spec;
        return {
          ...review,
          status: await decide(authorizer, attributesOf(context.user, resourceAttributes, nonResourceAttributes)),
        };
      },
    }),
  ];
}

function tokenReviews(authenticate: AuthenticateToken): ResourceDefinition {
  return defineVirtual(TokenReviews, {
    async create(draft) {
      const review = draft as TokenReview;
      const token = review.spec?.token ?? '';
      if (token === '') throw badRequest('token is required for TokenReview in authentication');
      try {
        const answer = await authenticate(token, review.spec.audiences ?? []);
        if (answer === undefined) return { ...review, status: { user: {}, error: 'invalid bearer token' } };
        const audiences = answer.audiences === undefined ? {} : { audiences: [...answer.audiences] };
        return { ...review, status: { authenticated: true, user: answer.user, ...audiences } };
      } catch (error) {
        // A refused token is a result of the review, not a failure.
        return {
          ...review,
          status: { user: {}, error: errorMessage(error) },
        };
      }
    },
  });
}

function rulesReviews(rulesFor: RulesFor): ResourceDefinition {
  return defineVirtual(SelfSubjectRulesReviews, {
    async create(draft, context) {
      const review = draft as SelfSubjectRulesReview;
      const namespace = review.spec?.namespace ?? '';
      if (namespace === '') throw badRequest('no namespace on request');
      return { ...review, metadata: {}, spec: {}, status: await rulesFor(context.user, namespace) };
    },
  });
}

export function reviewDefinitions({
  authorizer,
  authenticateToken,
  platform,
  rulesFor,
}: RegistryServices): ResourceDefinition[] {
  return [
    ...accessReviews(authorizer),
    ...(rulesFor === undefined ? [] : [rulesReviews(rulesFor)]),
    ...(authenticateToken === undefined ? [] : [tokenReviews(authenticateToken)]),
    defineVirtual(SelfSubjectReviews, {
      create: async (draft, context) => ({
        ...(draft as SelfSubjectReview),
        metadata: { creationTimestamp: formatTime(platform.clock.nowMs()) },
        status: { userInfo: userInfoOf(context.user) },
      }),
    }),
  ];
}
